"""Runs the scripts named on the command line, one after the other, as `python script.py` would."""

import runpy
import sys
from pathlib import Path

import torch

names = sys.argv[1:]
for name in names:
    print(f"== {name}")
    sys.argv[:] = [f"{name}.py"]
    runpy.run_path(str(Path(__file__).with_name(f"{name}.py")), run_name="__main__")
    torch.set_default_dtype(torch.float32)  # which one of them changes
