"""The benchmarks, and what the documents say of their committed results."""
