"""The op table: a row per public differentiable operation. `test_table.py` says what every row must satisfy."""

from __future__ import annotations

from tests.ops.case import Case
from tests.ops.cases_elementwise import ELEMENTWISE
from tests.ops.cases_fourier import FOURIER
from tests.ops.cases_images import IMAGES
from tests.ops.cases_index import INDEXING
from tests.ops.cases_linalg import LINALG
from tests.ops.cases_matrices import MATRICES
from tests.ops.cases_network import NETWORK
from tests.ops.cases_nn import NN
from tests.ops.cases_polish import POLISH
from tests.ops.cases_recurrent import RECURRENT
from tests.ops.cases_reduce import REDUCE
from tests.ops.cases_scatter import SCATTER
from tests.ops.cases_shape import SHAPE
from tests.ops.cases_sorting import SORTING
from tests.ops.cases_special import SPECIAL
from tests.ops.cases_strided import STRIDED

CASES: tuple[Case, ...] = (
    *ELEMENTWISE,
    *REDUCE,
    *SORTING,
    *SHAPE,
    *STRIDED,
    *INDEXING,
    *LINALG,
    *MATRICES,
    *NN,
    *NETWORK,
    *RECURRENT,
    *SPECIAL,
    *FOURIER,
    *SCATTER,
    *IMAGES,
    *POLISH,
)
