"""The test suite: a folder per feature; docs/contributing/tests.md says where a test belongs."""
