"""Changes of the sources that the tests must detect."""
