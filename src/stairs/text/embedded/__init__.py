"""Text and labels that are on every machine: the documentation of the Python that runs."""
