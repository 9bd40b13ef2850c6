"""The special tokens and their ids, the same in every tokenizer that is trained here."""

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNKNOWN, BEGIN, END, MASK = range(5)
