"""Files of word vectors: word2vec, fastText, GloVe."""
