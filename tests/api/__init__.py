"""The public functions and records: arguments, results, exceptions."""
