"""Order statistics: medians, quantiles, and the first elements in an order."""
