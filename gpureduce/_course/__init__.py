"""What a learner does: kernels of their own beside ours, in notebooks, files and on the command line."""
