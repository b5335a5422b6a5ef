"""Scripts for those who work on the project, and the tests of these scripts."""
