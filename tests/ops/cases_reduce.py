"""Rows of operations that reduce or scan dimensions."""
from __future__ import annotations
from tests.ops.case import Case
from tests.ops.samples import ONE
import numpy as np
REDUCE = (Case("sum", ONE, np.sum),)
