"""Rows of the op table that cannot be compared with the CPU on a device, and why."""

from __future__ import annotations

DRAWN = "draws random numbers, which are the device's own: test_random.py"
SIGNS = "the signs of vectors are the library's choice: test_linalg.py compares what does not depend on them"

EXEMPT: dict[str, dict[str, str]] = {
    "strict": {},
    "cuda": {
        "feature_dropout": DRAWN,
        "alpha_dropout-on": DRAWN,
        "feature_alpha_dropout-on": DRAWN,
        "native_dropout-on": DRAWN,
        "nn.functional.gumbel_softmax": DRAWN,
        "linalg.eigh": SIGNS,
        "linalg.svd": SIGNS,
    },
}
