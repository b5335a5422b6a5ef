"""Convolutions: the third ladder."""
