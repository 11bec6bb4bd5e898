"""Kernels in plain array code: `xp` is the backend they run on. NumpyBackend has them as methods."""
