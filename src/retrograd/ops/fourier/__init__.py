"""Fourier transforms, their frequencies and windows."""
