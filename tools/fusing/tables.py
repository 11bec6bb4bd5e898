"""The coefficients of special functions as C++, for `native/special.cpp`: those that `ops/special` computes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.ops.special import chebyshev_tables, erf, gamma, incomplete_gamma


def tables() -> str:
    """The text of `special_tables.inc`."""
    named: dict[str, Any] = {name: value for name, value in vars(chebyshev_tables).items() if name.isupper()}
    named["ERFC_FAR"] = erf.FAR
    for name in ("STIRLING", "DIGAMMA_SERIES", "EULER_MACLAURIN", "LOG_PI", "HALF_LOG_TWO_PI"):
        named[name] = getattr(gamma, name)
    named["ATANH"] = incomplete_gamma.ATANH
    return "".join(_declared(name, value) for name, value in named.items())


def _declared(name: str, value: Any) -> str:
    sizes = ""
    inner = value
    while isinstance(inner, tuple):
        sizes += f"[{max(map(len, value)) if inner is not value else len(inner)}]"
        inner = inner[0]
    return f"const double {name}{sizes} = {_text(value)};\n"


def _text(value: float | Sequence[Any]) -> str:
    """A number, or numbers in braces; what a shorter row of a table lacks is 0."""
    if isinstance(value, tuple):
        return "{" + ", ".join(map(_text, value)) + "}"
    return repr(value)
