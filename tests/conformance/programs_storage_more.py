"""Storages of files, of the device meta, and in copies of what they are part of; scales of a loss; masks."""

from __future__ import annotations

import copy
import math
import tempfile
from pathlib import Path
from typing import Any

from .harness import attempt, program
from .programs_storage import quietly


@program()
def memory_of_a_file(torch: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "numbers")
        whole = torch.from_file(path, True, 4, dtype=torch.float32).fill_(2.5)
        part = quietly(lambda: torch.FloatStorage.from_file(path, True, 2))
        found = (
            quietly(part.tolist),
            torch.UntypedStorage.from_file(path, True, 4).tolist(),
            whole.untyped_storage().filename == path,
            torch.from_file(path, False, 4, dtype=torch.float32).untyped_storage().filename,
            torch.ones(2).untyped_storage().filename,
        )
        del whole, part
        return found


@program()
def memory_of_no_device(torch: Any) -> Any:
    typed = quietly(lambda: torch.TypedStorage([1, 2], device="meta", dtype=torch.float32))
    untyped = torch.UntypedStorage(3, device="meta")
    quietly(lambda: typed.resize_(5))
    return (
        quietly(typed.nbytes),
        untyped.resize_(7).nbytes(),
        attempt("Not available", lambda: torch.UntypedStorage(0, device="meta")[0]),
        attempt("Not available", lambda: quietly(lambda: typed[0])),
        format(torch.empty((), device="meta")),
    )


@program()
def copies_share_memory_as_the_originals_do(torch: Any) -> Any:
    a = torch.arange(4.0)
    copied, storage, view = copy.deepcopy([a, quietly(a.storage), a.view(2, 2)])
    copied.add_(10)
    return quietly(storage.tolist), view, a


@program()
def tensors_without_memory(torch: Any) -> Any:
    nothing = torch.tensor([])
    return nothing.is_set_to(torch.tensor([])), nothing.new(size=(2, 3)).shape


@program()
def gradients_and_scales(torch: Any) -> Any:
    grads = [torch.tensor([1.0, 2.0]), torch.tensor([math.inf])]
    found = torch.zeros(1)
    check, update = torch._amp_foreach_non_finite_check_and_unscale_, torch._amp_update_scale_
    check(grads, found, torch.tensor(0.5))
    scales = []
    for seen, interval in ((1.0, 1), (0.0, 1), (0.0, 2)):
        scale, tracker = torch.tensor([4.0]), torch.tensor([0], dtype=torch.int32)
        update(scale, tracker, torch.tensor([seen]), 2.0, 0.25, interval)
        scales.append((scale, tracker))
    return (
        (grads, found, scales),
        attempt("found_inf must be a 1-element tensor", check, grads, torch.zeros(2), torch.tensor(0.5)),
        attempt("inv_scale must be a 1-element tensor", check, grads, found, torch.zeros(2)),
    )


@program()
def a_mask_beside_other_arguments(torch: Any) -> Any:
    x, mask = torch.ones(2, 3), torch.tensor([True, False, True])
    masked = torch.masked._input_mask
    return masked(x, 1, mask=mask, dim=0), attempt("requires explicit mask", masked, x)
