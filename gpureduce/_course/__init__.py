"""The course: exercises and users' kernels, in notebooks, files and on the command line."""
