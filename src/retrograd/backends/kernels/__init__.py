"""Kernels in plain array code: `xp` is the backend they run on. Backend has them as methods."""
