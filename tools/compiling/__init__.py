"""How retrograd is compiled: which modules, by what steps, with which flags. Used by setup.py and tools/compiled.py."""
