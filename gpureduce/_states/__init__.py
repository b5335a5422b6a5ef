"""States: reductions of parts, which merge into that of the whole, wherever they were made."""
