"""A classifier as one Python file that needs neither Stairs nor torch."""
