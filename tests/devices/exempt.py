"""Rows of the op table that cannot run on the strict device, and why."""

from __future__ import annotations

EXEMPT: dict[str, str] = {}
