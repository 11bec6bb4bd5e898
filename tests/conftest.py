"""What every test folder shares: the oracle, hypothesis without deadlines, process-wide settings put back, and a line
about the tests that did not run for want of the native pack."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies
from tools.compiling import public, syntax

import retrograd as rg
from retrograd.backends import dtypes
from retrograd.overrides.switch import SWITCH, switch_for_a_mode
from tests.project import sources

# A slow machine is no failure.
settings.register_profile(
    "retrograd", parent=settings.get_profile(settings.get_current_profile_name()), deadline=None
)
settings.load_profile("retrograd")


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch, the oracle; tests that ask for it are skipped where it is not installed."""
    module = pytest.importorskip("torch")
    module.set_num_threads(1)
    return module


@pytest.fixture(autouse=True)
def settings_put_back() -> Iterator[None]:
    """The modes and the default dtype are the thread's and the process's: one test must not decide for the next."""
    yield
    dtypes.set_default_dtype(dtypes.float32)
    rg.autograd.set_grad_enabled(True)
    if SWITCH.for_good:  # a class with `__torch_function__` has been made
        SWITCH.for_good = False
        switch_for_a_mode(True)
        switch_for_a_mode(False)


@pytest.fixture(autouse=True, scope="module")
def trees_let_go() -> Iterator[None]:
    """The syntax trees of all sources are millions of objects: the collector must not visit them in later tests."""
    yield
    for cached in (sources.tree, syntax.tree_of, public.imports_of):
        cached.cache_clear()


def pytest_collection_finish() -> None:
    """What is there by now stays: the collector need not look at a million objects of pytest's again and again."""
    # Hypothesis looks for what holds its generator, and cannot see it among frozen objects: it is made before.
    given(strategies.none())(lambda _: None)()
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A run without the native pack is a good one, but not the whole: it says so."""
    reasons = [str(report.longrepr) for report in terminalreporter.getreports("skipped")]
    count = sum("native pack" in reason for reason in reasons)
    if count:
        terminalreporter.write_line(
            f"Skipped for want of the native pack: {count:,}. `make test-compiled` builds the pack and runs these too.",
            yellow=True,
        )
    count = sum("no browser" in reason for reason in reasons)
    if count:
        terminalreporter.write_line(
            f"Skipped for want of a browser: {count}. They need Chromium, Node.js, and `npm ci` in inspector/.",
            yellow=True,
        )
