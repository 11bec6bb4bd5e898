"""Functions that write into their first argument, and more than the in-place form of a function does."""
