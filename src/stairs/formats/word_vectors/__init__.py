"""Files of word vectors: word2vec's text and binary, fastText's .vec and GloVe's."""

from stairs.formats.word_vectors.vector_reader import WordVectorFile, read
from stairs.formats.word_vectors.vector_writer import KINDS, to_model, write

__all__ = ["KINDS", "WordVectorFile", "read", "to_model", "write"]
