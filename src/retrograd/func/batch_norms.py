"""`replace_all_batch_norm_modules_`: batch norms that write nothing while they run."""

from __future__ import annotations

from typing import Any


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Has all batch norms of a module, and itself, use the statistics of each batch, as `vmap` needs it; in place.

    >>> import retrograd as rg
    >>> norm = replace_all_batch_norm_modules_(rg.nn.BatchNorm1d(2))
    >>> norm.running_mean is None, norm.track_running_stats
    (True, False)
    """
    for module in root.modules():
        if hasattr(module, "track_running_stats") and hasattr(module, "num_batches_tracked"):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
