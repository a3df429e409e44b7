"""What families ask of the compiled core, and the loops that NumPy does as fast."""
