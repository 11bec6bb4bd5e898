"""Where the first NaN or Inf of a backward came from; entered by `search.search`, from `engine/watch.py`."""
