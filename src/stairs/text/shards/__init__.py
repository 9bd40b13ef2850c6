"""Token ids on disk, in three parts: train, validation and test."""
