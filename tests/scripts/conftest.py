"""Nothing here is a test: `tests/alias/test_scripts.py` runs these programs, each in a process of its own."""

collect_ignore_glob = ["*.py"]
