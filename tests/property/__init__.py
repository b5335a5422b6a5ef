"""Random calls against references."""
