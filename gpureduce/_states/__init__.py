"""States: reductions of parts, which merge into the reduction of the whole."""
