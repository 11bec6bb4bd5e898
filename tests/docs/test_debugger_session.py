"""The session with Python's debugger in docs/guide/getting-started.md goes as it is shown."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys

import pytest

from retrograd import __config__

from .pages import DOCS, OPTIONS, blocks_of

TEXT = (DOCS / "guide" / "getting-started.md").read_text(encoding="utf-8")
PROMPT = "(Pdb) "


def shown_session(text: str) -> list[tuple[str, str]]:
    """The commands of the session on a page, each with what is printed after it."""
    (session,) = re.findall(r"^```text\n\$ python -m pdb .*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    steps = [part.partition("\n") for part in session.split(PROMPT)[1:]]
    return [(command, printed) for command, _, printed in steps]


@pytest.mark.skipif(__config__.is_compiled(), reason="a debugger does not stop inside compiled code")
def test_the_session_goes_as_shown(tmp_path):
    (program,) = [block.source for block in blocks_of(TEXT) if "rg.where(x > 0, x.sqrt()" in block.source]
    script = tmp_path / "trap.py"
    script.write_text("import retrograd as rg\n" + program, encoding="utf-8")
    steps = shown_session(TEXT)
    commands = "".join(f"{command}\n" for command, _ in steps)
    done = subprocess.run(
        [sys.executable, "-m", "pdb", str(script)],
        input=commands + "quit\n",
        capture_output=True,
        text=True,
        check=True,
    )
    printed = done.stdout.split(PROMPT)[1:]  # the first part is where pdb stops by itself
    assert len(steps) > 3
    for (command, expected), found in zip(steps, printed, strict=False):
        assert doctest.OutputChecker().check_output(expected, found, OPTIONS), f"{command}\n{found}"


def test_a_session_is_read():
    text = "```text\n$ python -m pdb a.py\n(Pdb) p 1\n1\n(Pdb) next\n```\n"
    assert shown_session(text) == [("p 1", "1\n"), ("next", "")]
