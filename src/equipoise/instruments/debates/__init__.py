"""Debates: which answer does a model pick, and does it keep it under pressure and in Chinese?"""
