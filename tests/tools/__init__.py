"""Scripts for the project's developers, and the tests of these scripts."""
