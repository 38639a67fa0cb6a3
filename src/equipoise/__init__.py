"""Finds out where a language model leans, and whether the lean survives."""

__version__ = "0.1.0"
