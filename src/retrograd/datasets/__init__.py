"""Data that ships with the package. Nothing is read before it is asked for."""

from retrograd.datasets.digits import Digits, DigitsSplit, load_digits, split_digits

__all__ = ["Digits", "DigitsSplit", "load_digits", "split_digits"]
