"""Programs that tests run, each in a process of its own, are no tests."""

collect_ignore = [
    "class_names.py",
    "exchange.py",
    "missing_names.py",
    "private_names.py",
    "pytorch_helpers.py",
]
