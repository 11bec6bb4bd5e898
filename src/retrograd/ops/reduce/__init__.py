"""Functions of many elements at once: sums, extrema, sorting, counting."""
