"""Conformance: the same program on `torch` (the oracle) and on `retrograd`, outcome against outcome."""
