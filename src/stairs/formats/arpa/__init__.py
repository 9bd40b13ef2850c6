"""ARPA: the text format in which n-gram tools exchange models."""

from stairs.formats.arpa.arpa_reader import read
from stairs.formats.arpa.arpa_writer import arpa_names, write

__all__ = ["arpa_names", "read", "write"]
