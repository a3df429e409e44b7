"""The inner loops: numba kernels, each with a NumPy twin that gives the same answers."""
