"""A climb: models on the same text and labels, and the cheapest that is good enough. `stairs.climb(...)` runs one."""
