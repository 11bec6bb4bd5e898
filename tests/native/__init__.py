"""Kernels of the native pack against the plain NumPy formulas that stand in for them."""
