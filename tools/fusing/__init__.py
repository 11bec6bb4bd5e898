"""From the formulas of elementwise ops to C++: symbols, tracing, and writing. `tools/fuse.py` is the way in."""
