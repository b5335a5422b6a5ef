"""Matrix products: the second ladder."""
