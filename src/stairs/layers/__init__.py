"""The mathematics that models share; it knows nothing of text. B batch, T positions, S source positions, H heads, D width, V vocabulary."""
