"""What a learner does: kernels of their own next to ours, in notebooks, files and on the command line."""
