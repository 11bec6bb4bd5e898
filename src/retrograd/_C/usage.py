"""`_log_api_usage_once`: libraries say what of them is used. Nobody is told here."""

from __future__ import annotations


def _log_api_usage_once(event: str) -> None:
    """Nothing."""
