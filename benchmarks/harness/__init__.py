"""What all benchmarks share: arguments, measuring, tables and result files."""
