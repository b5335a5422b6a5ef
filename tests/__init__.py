"""The test suite: a folder per feature; CONTRIBUTING.md says what belongs where."""
