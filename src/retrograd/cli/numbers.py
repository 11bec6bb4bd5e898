"""Numbers that options take."""

from __future__ import annotations

import argparse


def at_least_one(text: str) -> int:
    """A whole number from 1 on, or a complaint that the parser prints."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def seconds(text: str) -> float:
    """A time that passes, or a complaint that the parser prints."""
    try:
        time = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 < time < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no time that one could wait for")
    return time
