"""What the tests share: data, references, producers of arrays, child processes."""
