"""Numbers that options take."""

from __future__ import annotations

import argparse


def at_least_one(text: str) -> int:
    """A whole number from 1 on, or a complaint that the parser prints."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number
