"""Storages: the memory of tensors as bytes and as elements, made, looked at, written and converted."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

from .harness import attempt, program


def quietly(use: Callable[[], Any]) -> Any:
    """Without the warning that typed storages are old, which PyTorch gives once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return use()


def four_bytes(torch: Any) -> Any:
    return torch.tensor([1, 2, 3, 4], dtype=torch.uint8).untyped_storage()


@program()
def bytes_that_are_written(torch: Any) -> Any:
    t = torch.ones(2)
    memory = four_bytes(torch)
    memory[0], memory[1:3] = 300, 7
    part = memory[2:]
    part.fill_(9)
    t.untyped_storage().fill_(0)
    return (
        t,
        memory.tolist(),
        part.tolist(),
        list(memory),
        memory[-1],
        memory.copy_(four_bytes(torch)).tolist(),
    )


@program()
def storages_of_bytes_are_made(torch: Any) -> Any:
    made = torch.UntypedStorage
    return (
        (made().nbytes(), len(made(3)), made([1, 2, 300]).tolist(), made(2, device="cpu").device.type),
        (made(2).resize_(4).nbytes(), made(2).resizable(), four_bytes(torch).clone().tolist()),
        attempt("Expected a sequence type", made, 1.5),
        attempt("one of the items was of type", made, [1.5]),
        attempt("received an invalid combination of arguments", made, 1, 2),
        (made.from_buffer(bytearray(b"ab"), dtype=torch.uint8).tolist(), made(1).type(), made(1).is_sparse),
    )


@program()
def bytes_that_are_not_there(torch: Any) -> Any:
    memory = four_bytes(torch)
    return (
        attempt("out of range for storage of size 4", memory.__getitem__, 9),
        attempt("only a step of 1 is supported", memory.__getitem__, slice(None, None, 2)),
        attempt("can't index a torch.UntypedStorage with float", memory.__getitem__, 1.5),
        attempt("can only set storage content with a int types", memory.__setitem__, 0, "a"),
        attempt("size does not match, self was 4 bytes", memory.copy_, torch.UntypedStorage(2)),
        attempt("must be torch.Storage, not Tensor", memory.copy_, torch.ones(1)),
    )


@program()
def bytes_in_another_order(torch: Any) -> Any:
    memory, pair = four_bytes(torch), torch.ones(1, dtype=torch.complex64).untyped_storage()
    memory.byteswap(torch.int16)
    pair.byteswap(torch.complex64)
    return memory.tolist(), pair.tolist()


@program()
def storages_are_copied(torch: Any) -> Any:
    memory, file = four_bytes(torch), io.BytesIO()
    torch.save(memory, file)
    file.seek(0)
    typed = quietly(torch.arange(3.0).storage)
    pair = copy.deepcopy([memory, memory])
    return (
        (copy.copy(memory).tolist(), pair[0].tolist(), pair[0] == pair[1], pair[0] == memory),
        torch.load(file, weights_only=False).tolist(),
        quietly(lambda: [f(typed).tolist() for f in (copy.copy, copy.deepcopy)]),
        quietly(lambda: pickle.loads(pickle.dumps(typed)).tolist()),
    )


@program()
def storages_without_values(torch: Any) -> Any:
    memory = torch.UntypedStorage(2, device="meta")
    typed = quietly(lambda: torch.TypedStorage([1, 2], dtype=torch.int8, device="meta"))
    return (
        (str(memory.device), memory.nbytes(), memory.data_ptr(), repr(memory), typed.size()),
        attempt("Not available for 'meta' device type", memory.__getitem__, 0),
        attempt("Not available for 'meta' device type", memory.tolist),
        attempt("Cannot copy out of meta tensor", memory.cpu),
        attempt("Not available for 'meta' device type", typed.__getitem__, 0),
        str(torch.ones(2, device="meta").untyped_storage().device),
    )


@program()
def elements_of_a_storage(torch: Any) -> Any:
    return quietly(lambda: elements(torch))


def elements(torch: Any) -> Any:
    t = torch.arange(4.0)
    typed = t.storage()
    typed[1], typed[2:] = 5, 7
    return (
        (
            t,
            typed.tolist(),
            list(typed),
            typed.type(),
            typed.pickle_storage_type(),
            t.storage_type().__name__,
        ),
        [
            f().dtype
            for f in (typed.half, typed.long, typed.byte, typed.bool, typed.bfloat16, typed.complex_float)
        ],
        (typed.double().tolist(), typed == typed, typed.clone() == typed, typed.fill_(1).tolist()),
        attempt("slices are only supported in UntypedStorage", typed.__getitem__, slice(2)),
        attempt("out of range for storage of size 4", typed.__getitem__, -5),
        attempt("is out of bounds for dimension 0 with size 4", typed.__setitem__, 4, 1),
        attempt("can't index a", typed.__getitem__, 1.5),
        attempt("size does not match", typed.copy_, torch.ones(3).storage()),
        attempt("Expected a Storage of type", torch.tensor([], dtype=torch.int32).set_, typed),
        (torch.tensor(typed), torch.tensor(four_bytes(torch), dtype=torch.int16), torch.FloatTensor(typed)),
        (torch.ones(1).new(typed), torch.asarray(bytearray(4), dtype=torch.float32)),
    )


@program()
def storages_of_elements_are_made(torch: Any) -> Any:
    made, memory = torch.TypedStorage, torch.ones(2).untyped_storage()
    return quietly(
        lambda: (
            (made(3, dtype=torch.int8).size(), made([1, 2], dtype=torch.float64).tolist()),
            made(wrap_storage=memory, dtype=torch.float32).tolist(),
            attempt("Too many positional arguments", made, 0, 0, dtype=torch.int8),
            attempt("Argument type not recognized", made, torch.ones(1), dtype=torch.int8),
            attempt("Argument 'dtype' must be torch.dtype", lambda: made(wrap_storage=memory, dtype=0)),
            attempt("Argument 'dtype' must be specified", lambda: made(wrap_storage=memory)),
            attempt("No positional arguments", lambda: made(0, wrap_storage=memory, dtype=torch.int8)),
            attempt(
                "must be UntypedStorage",
                lambda: made(wrap_storage=made(dtype=torch.int8), dtype=torch.int8),
            ),
            attempt(
                "'device' should not be specified",
                lambda: made(device="cpu", wrap_storage=memory, dtype=torch.int8),
            ),
        )
    )


@program()
def old_classes_of_storages(torch: Any) -> Any:
    return quietly(lambda: old_classes(torch))


def old_classes(torch: Any) -> Any:
    made, short, bools = torch.FloatStorage, torch.ShortStorage, torch.BoolStorage
    flags = bools.from_buffer(bytearray([0, 1, 2, 3, 0x40]), "big")
    return (
        (made().size(), made(3).size(), made([1, 2]).tolist(), made(1).type(), repr(made), made.dtype),
        (isinstance(made(1), made), isinstance(made(1), bools), isinstance(made(1), torch.TypedStorage)),
        (
            torch.ComplexFloatStorage([1 + 1j]).tolist(),
            torch.HalfStorage([1]).dtype,
            bools(3).fill_(True).tolist(),
        ),
        (short.from_buffer(bytearray([1, 2, 3, 4]), "big").tolist(), flags.tolist(), flags.type()),
        made.from_buffer(bytearray([0x40, 0x10, 0, 0]), "big").tolist(),
        attempt("must be a multiple of element size", short.from_buffer, bytearray(3), "little"),
        attempt("missing required argument 'byte_order'", short.from_buffer, bytearray(4)),
        attempt("invalid byte_order", short.from_buffer, bytearray(4), "middle"),
        attempt("'device' cannot be specified", lambda: made(device="cpu")),
        attempt("'dtype' cannot be specified", lambda: made(dtype=torch.float32)),
        attempt("Too many positional arguments", made, 0, 0),
        attempt("invalid data type", made, "text"),
        attempt("Argument type not recognized", made, torch.tensor([])),
        attempt("No positional arguments", lambda: made(0, wrap_storage=torch.UntypedStorage(0))),
        attempt("must be UntypedStorage", lambda: made(wrap_storage=made())),
        attempt("Only child classes of _LegacyStorage can be instantiated", torch.storage._LegacyStorage),
        {c.__name__ for c in torch._storage_classes} >= {"FloatStorage", "BFloat16Storage"},
        torch.storage._dtype_to_storage_type_map()[torch.int64],
    )


@program(warns="TypedStorage is deprecated")
def typed_storages_are_old(torch: Any) -> Any:
    torch.storage._reset_warn_typed_storage_removal()
    return torch.ones(2).storage().size()
