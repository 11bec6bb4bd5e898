"""Programs that tests run, each in a process of its own, are no tests."""

collect_ignore = ["exchange.py", "missing_names.py"]
