"""Which of two words does a model choose, however it is asked?"""
