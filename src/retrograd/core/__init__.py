"""Tensor and graph. See README.md here."""
