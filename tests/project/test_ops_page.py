"""docs/ops.md says what the op table says."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def test_the_page_of_operations_is_up_to_date(torch: Any) -> None:
    spec = importlib.util.spec_from_file_location("document_ops", ROOT / "tools" / "document_ops.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = tool.text()
    page = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert page == wanted, "run python tools/document_ops.py"
