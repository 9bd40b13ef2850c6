"""Nearest neighbours by cosine."""
