"""The inner loops: numba kernels, each beside a NumPy twin that gives the same answers."""
