"""The explorer: pages that show trained runs from inside, on this machine only."""
