"""What has no row of its own in the op table, and why."""

from __future__ import annotations

EXEMPT_OPS: dict[str, str] = {}
EXEMPT_FUNCTIONS: dict[str, str] = {}
