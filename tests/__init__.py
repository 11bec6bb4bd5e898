"""Makes the test folders one package, so that `tests/inspect` is not mistaken for the standard library's `inspect`."""
