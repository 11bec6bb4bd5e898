"""Builds what is compiled. Everything else about the package stands in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent))  # a build backend does not run here by itself

from tools.compiling.command import what_to_build
from tools.readme import for_an_index

setup(
    long_description=for_an_index(),
    long_description_content_type="text/markdown",
    **what_to_build(),
)
