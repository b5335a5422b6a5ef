"""The PTX simulator: counters, race detector, traces, printf."""
