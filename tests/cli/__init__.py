"""The command ``gpureduce``."""
