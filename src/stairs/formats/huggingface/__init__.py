"""Folders of transformers and sentence-transformers."""
