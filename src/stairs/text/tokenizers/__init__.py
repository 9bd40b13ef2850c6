"""Text to ids and back: every kind of tokenizer behind one name."""
