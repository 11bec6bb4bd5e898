"""A folder for `sys.path`, with a package `torch` in it."""
