"""Functions that write into their first argument."""
