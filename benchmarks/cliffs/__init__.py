"""Cases drawn at random for the benchmark ``cliffs``: what is called, on which arrays, and what is right."""
