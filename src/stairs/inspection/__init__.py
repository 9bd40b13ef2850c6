"""Looking inside a model from outside."""
