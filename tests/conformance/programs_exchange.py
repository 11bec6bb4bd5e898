"""Tensors lent to other libraries and back by DLPack, in every dtype; orders of dimensions; names of devices."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .harness import attempt, program

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
]  # fmt: skip


@program()
def every_dtype_is_lent(torch: Any) -> Any:
    pack = torch.utils.dlpack
    found = []
    for name in DTYPES:
        t = torch.ones(2, 3, dtype=getattr(torch, name)).t()
        again = pack.from_dlpack(pack.to_dlpack(t))
        other = torch.from_dlpack(t)
        other[0, 0] = 0
        found.append((again, again.stride(), again.data_ptr() == t.data_ptr(), t[0, 0]))
    return found


@program()
def a_capsule_is_taken_once(torch: Any) -> Any:
    capsule = torch.ones(2).__dlpack__()
    return torch.from_dlpack(capsule), attempt("consumed only once", torch.from_dlpack, capsule)


@program()
def what_is_said_of_streams(torch: Any) -> Any:
    t = torch.ones(2)
    return (
        attempt("stream should be None on cpu", lambda: t.__dlpack__(stream=1)),
        attempt("stream must be", lambda: t.__dlpack__(stream="x")),
        torch.from_dlpack(t.__dlpack__(stream=None)),
        repr(t.__dlpack_device__()),
    )


@program()
def an_order_of_dimensions_that_is_the_only_one(torch: Any) -> Any:
    images, unique = torch.ones(2, 3, 4, 5), {"ambiguity_check": True}
    formats = [torch.contiguous_format, torch.channels_last]
    return (
        (images.dim_order(**unique), torch.ones(2, 3).t().dim_order(**unique)),
        images.to(memory_format=torch.channels_last).dim_order(ambiguity_check=formats),
        attempt("does not have unique dim order", lambda: torch.ones(1, 3).dim_order(**unique)),
        attempt("does not have unique dim order", lambda: torch.ones(3).expand(2, 3).dim_order(**unique)),
        attempt(
            "does not have unique dim order",
            lambda: torch.ones(2, 3, 1, 1).dim_order(ambiguity_check=formats),
        ),
        attempt("must be a bool or a list of memory formats", lambda: images.dim_order(ambiguity_check="x")),
    )


@program()
def devices_that_are_none(torch: Any) -> Any:
    return (
        [
            attempt("Invalid device string", torch.device, text)
            for text in ("cpu:", "cuda:-1", "cuda:01", "cuda:1x", ":", "cpu:0:1")
        ],
        attempt("Device string must not be empty", torch.device, ""),
        attempt("Could not parse device index", torch.device, "cuda:99999999999"),
        attempt("Device index must not be negative", torch.device, -1),
        attempt("legacy constructor expects device type: cpu", lambda: torch.FloatTensor(2, device="cuda")),
        torch.FloatTensor([1], device="cpu"),
    )


@program()
def sequences_of_ones_own(torch: Any) -> Any:
    class Broken:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> float:
            raise RuntimeError("broken")

    generator = torch.Generator()
    return (
        attempt("could not determine the shape of object type 'Broken'", torch.tensor, Broken()),
        attempt("CPU Generator does not use offset", generator.get_offset),
        attempt("CPU Generator does not use offset", generator.set_offset, 1),
    )


@program()
def printing_for_a_while(torch: Any) -> Any:
    text = torch._tensor_str
    with text.printoptions(precision=2):
        short = repr(torch.tensor([1.2345]))
    return short, repr(torch.tensor([1.2345])), text.get_printoptions()["precision"]


@program()
def what_a_capsule_carries_can_be_written(torch: Any) -> Any:
    pack = torch.utils.dlpack
    found = []
    for t in (torch.arange(4), torch.zeros(2, 3).t(), torch.tensor(3.0), torch.ones(2, dtype=torch.bfloat16)):
        taken = pack.from_dlpack(pack.to_dlpack(t))
        taken.mul_(2).add_(1)
        found.append((t, taken, taken.stride()))
    return found, pack.from_dlpack(pack.to_dlpack(torch.zeros(0, 3)))


@program()
def what_has_no_name_is_not_saved(torch: Any) -> Any:
    class Local:
        pass

    def local() -> None:
        pass

    def save(value: Any) -> None:
        torch.save({"x": torch.ones(1), "value": [value]}, io.BytesIO())

    layer = torch.nn.Linear(1, 1)
    layer.act = lambda x: x
    found = [
        attempt("Can't pickle local object 'what_has_no_name_is_not_saved.<locals>", save, value)
        for value in (Local, Local(), local, layer)
    ]
    return [*found, attempt("cannot pickle 'generator' object", save, (i for i in range(2)))]


@program()
def arrays_of_subclasses_of_numpys(torch: Any) -> Any:
    matrix = np.arange(4.0).reshape(2, 2).view(np.matrix)
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    found = []
    for array in (matrix, masked, np.rec.array(np.ones(2))):
        for make in (torch.tensor, torch.as_tensor, torch.from_numpy, torch.Tensor):
            t = make(array)
            found.append((t, t.sum(), t * t, t.tolist(), type(t.numpy()).__name__))
        found.append((torch.tensor(array, dtype=torch.float16), torch.ones(2).new_tensor(array)))
    return found


@program()
def arrays_whose_steps_are_not_whole_elements(torch: Any) -> Any:
    records = np.zeros(3, dtype=[("a", "<f4"), ("b", "u1")])
    even = np.zeros(3, dtype=[("a", "<f4"), ("b", "<f4")])
    phrase = "given numpy array strides not a multiple of the element byte size"
    return (
        [attempt(phrase, make, records["a"]) for make in (torch.from_numpy, torch.as_tensor)],
        torch.from_numpy(even["b"]).stride(),
    )
