"""Backend: one object per kind of array, and how the one for an array is found.

Note [Backends]
~~~~~~~~~~~~~~~
A formula gets the backend of its operands as `xp`. It is three things in one:

- the array library's own names: `xp.exp(x)`, `xp.zeros(shape, dtype)`, `xp.linalg.solve(a, b)`;
- kernels by name, `xp.softmax(x, axis)`: what a backend does not do better it inherits, so a kernel always answers.
  Where the plain version is the formula of an op, the kernel gets the op (`xp.layer_norm(op, xs)`), for its parameters
  and for that formula;
- what only the owner of the memory knows: devices, moving, addresses, random numbers, which dtypes there are.

    Backend                 kernels in plain array code, and formulas of ops, which recorded backwards run on Tensors
    └─ NumpyBackend         NumPy's memory, and nothing but NumPy: the reference
       ├─ NativeBackend     the kernel pack, where it serves
       └─ KernelBackend     CuPy's arrays on a GPU, with kernels of our own where they serve
          └─ CudaBackend    what is left: memory, devices, streams, the pack's short road; Note [bfloat16 on a GPU]
    BatchedBackend          vmap's arrays over any of them
    BFloat16Backend         NumPy's memory as bfloat16, computed in float32: Note [bfloat16]
    MirrorBackend           conjugates of any of them, in the same memory: Note [Mirrors]

No layer above asks which backend it has. `register` makes another kind of array known: docs/inside/backends.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from retrograd.backends.device import CPU, DEVICE_TYPES, default_device, device
from retrograd.backends.dtype_class import bfloat16
from retrograd.backends.kernels import along_axis, optimizer_steps, running, softmax
from retrograd.backends.kernels.noise import noise
from retrograd.backends.kernels.products import layout_of
from retrograd.backends.names import LibraryNames
from retrograd.errors import NoCudaError
from retrograd.hints import mypyc_attr
from retrograd.values import Array, Axis, Shape

ndarray: Final[Any] = np.ndarray
float16: Final = np.dtype("float16")
float32: Final = np.dtype("float32")


@mypyc_attr(allow_interpreted_subclasses=True)
class Backend(LibraryNames):
    """What computes on one kind of array. See Note [Backends].

    This class itself has no arrays: its kernels are the formulas of ops, and serve Tensors in recorded backwards.
    """

    device_type: ClassVar[str] = "cpu"
    is_plain: ClassVar[bool] = False  # whether arrays are NumPy's own
    runs_formulas: bool = False  # whether compiled formulas serve arrays that are not NumPy's own
    stands_for_many: ClassVar[bool] = False  # whether an array stands for all samples of a `vmap`
    asynchronous: ClassVar[bool] = False  # whether work may be done after the call that asks for it
    has_values: ClassVar[bool] = True  # whether arrays have elements that can be read
    rounds: ClassVar[bool] = False  # whether ops are computed in a wider dtype, and their results rounded
    fuses_rms_norm: ClassVar[bool] = (
        False  # whether RMS norm is one op, as on PyTorch's GPUs, and not several
    )
    # Whether a result may have a shape that depends on values, as those of `nonzero` and boolean masks have.
    dynamic_shapes: ClassVar[bool] = True

    # -- whose array it is -----------------------------------------------------------------------------------------

    def of(self, array: Array) -> Backend:
        """The backend of this very array; nearly always the one of its class."""
        return self

    def joined(self, other: Backend) -> Backend:
        """The backend for operands of this one and of another, `other`."""
        return other if not other.dynamic_shapes else self

    def device_of(self, array: Array) -> device:
        """Where an array lives."""
        return CPU

    def numbered(self, where: device) -> device:
        """A device of this backend with its number; an error if there is none such."""
        return device(where.type, where.index or 0)

    def bring(self, array: Array, where: device) -> Array:
        """A copy of an array of any backend in the memory of `where`, a device of this one."""
        raise NotImplementedError(f"{type(self).__name__} has no bring()")

    def numpy(self, array: Array) -> Array:
        """An array as one of NumPy's, a copy unless it is one already."""
        raise NotImplementedError(f"{type(self).__name__} has no numpy()")

    # An array may stand for all samples of a batch (see Note [Batched arrays]), and look like one of them.

    @property
    def inner(self) -> Any:
        """The backend of the arrays in which the samples lie."""
        return self

    @property
    def lead(self) -> Shape:
        """How many samples there are: the dimensions that `whole` has in front."""
        return ()

    def whole(self, array: Array) -> Array:
        """The array in which all elements lie, those of all samples if it stands for many."""
        return array

    def of_whole(self, array: Array) -> Array:
        """What stands for an array of all samples: the reverse of `whole`."""
        return array

    def sample(self, array: Array) -> Array:
        """The array itself, or the first of the samples that it stands for, in the memory where it lies."""
        return array

    def around(self, array: Array) -> tuple[Any, Array] | None:
        """The level of `vmap` on which an array holds samples, and the array of them; None for all others."""
        return None

    def check_draw(self, parameter: Array) -> None:
        """Refuses to draw random numbers by a parameter where they could not be drawn."""

    def check_room(self, array: Array) -> None:
        """Refuses to write values of this backend into an array that has no room for all samples."""

    def check_condition(self, array: Array) -> None:
        """Refuses to be the condition of an `if` where samples would want to take different paths."""

    def share(self, tensor: Any, values: Array) -> None:
        """Before `values` are written into a tensor: makes it stand for as many samples as they do, if it may."""

    def fits(self, array: Array, shape: Any, dtype: Any) -> bool:
        """Whether an array has a shape, samples included, and a dtype; it may say no where one has to look closer."""
        return False

    def maker(self, dtype: Any) -> Any:
        """The backend that makes arrays of a dtype where those of this one are."""
        return self

    def as_bfloat16(self, array: Array, order: Any) -> Any:
        """A copy of an array of this backend in bfloat16."""
        return array.astype(bfloat16, order=order)

    def seen_as_bfloat16(self, array: Array) -> Any:
        """An array of this backend with elements of 16 bits as one of bfloat16, in the same memory."""
        return BACKENDS.of_bfloat16.seen(array.view(bfloat16.dtype))

    def supports(self, dtype: Any) -> bool:
        """Whether there are arrays of a dtype."""
        return True

    # -- memory ----------------------------------------------------------------------------------------------------

    def is_writable(self, array: Array) -> bool:
        """Whether an array may be written into. Only NumPy knows arrays that may not."""
        return True

    def set_writable(self, array: Array, writable: bool) -> None:
        """Says whether an array may be written into, where the array library can be told."""

    def unlocked(self, array: Array) -> Array:
        """An array over the same memory that may be written into; the memory itself is known to allow it."""
        found = array.view()
        self.set_writable(found, True)
        return found

    def owner_of(self, array: Array) -> Array:
        """The array that owns the memory of another."""
        raise NotImplementedError(f"{type(self).__name__} has no owner_of()")

    def extent_of(self, array: Array) -> tuple[int, int, int]:
        """The addresses of an array's first element, of its first byte, and of the byte behind its last."""
        raise NotImplementedError(f"{type(self).__name__} has no extent_of()")

    def pin(self, array: Array) -> Array:
        """A copy of one of NumPy's arrays in memory that this device copies from quickly, if there is such."""
        return array.copy()

    def is_pinned(self, array: Array) -> bool:
        """Whether one of NumPy's arrays lies in such memory."""
        return False

    def memory_stats(self) -> dict[str, int]:
        """What the allocator counts, by name; nothing where nobody counts."""
        return {}

    def empty_cache(self) -> None:
        """Gives memory that no array uses back to the system."""

    # -- order of work: there is none to keep on a CPU -------------------------------------------------------------

    def current_stream(self, where: device) -> Any:
        """The queue that work for a device goes into now; None where work is done when a call returns."""
        return None

    def record_event(self, stream: Any) -> Any:
        """A mark in a queue, behind all work that it has been given so far."""
        return None

    def wait_event(self, stream: Any, event: Any) -> None:
        """Lets a queue wait until another has come to a mark."""

    def enter_stream(self, stream: int) -> None:
        """Lets this thread's work go into a queue, named by the number that `BACKENDS.stream_now` gave."""

    def join_stream(self, stream: int, other: int) -> None:
        """Lets what a queue gets next wait for all that another has been given."""

    def keep_for(self, streams: list[int], arrays: list[Array]) -> None:
        """Keeps arrays until queues have done what they have been given, though nobody else may need them."""

    def synchronize(self, where: device) -> None:
        """Waits until a device has done all its work."""

    # -- random numbers --------------------------------------------------------------------------------------------

    def new_stream(self, seed: int) -> Any:
        """What draws random numbers on a device: an object with methods of `numpy.random.Generator`.

        Formulas call random, standard_normal, standard_exponential, standard_cauchy, integers, uniform, lognormal,
        geometric, permutation, binomial, poisson and standard_gamma. A `lock` is held while a process forks.
        """
        raise NotImplementedError(f"{type(self).__name__} has no new_stream()")

    def stream_state(self, stream: Any) -> bytes:
        """Where a stream is now; always of one length."""
        raise NotImplementedError(f"{type(self).__name__} has no stream_state()")

    def restore_stream(self, stream: Any, state: bytes) -> None:
        """Puts a stream where it was when `stream_state` was asked."""
        raise NotImplementedError(f"{type(self).__name__} has no restore_stream()")

    # -- ops ---------------------------------------------------------------------------------------------------

    def forward(self, op: Any, xs: Sequence[Any]) -> Any:
        """What an op makes of arrays of this backend."""
        return op.compute(self, xs if self.is_plain else [self.operand(x) for x in xs])

    def operand(self, x: Any) -> Any:
        """An operand of an op: single numbers may come from the CPU, arrays may not."""
        if type(x) is not ndarray:
            return x
        if x.ndim:
            raise mixed_devices(("cpu", self.device_type))
        return self.asarray(x)

    def vjp(self, op: Any, given: Sequence[Any]) -> Any:
        """The gradients that the formula of an op makes of arrays of this backend."""
        return op.vjp(*given)

    def compiled_vjp(self, kernel: Any, op: Any, given: Sequence[Any]) -> Any:
        """Gradients of this backend's arrays by a compiled formula for NumPy's; NotImplemented where it cannot be."""
        return NotImplemented

    def formula(self, key: str) -> Any:
        """A compiled formula, such as `elementwise.trigonometry.Tanh.vjp`; None where the op's own is all there is."""
        return None

    # -- shapes ----------------------------------------------------------------------------------------------------

    def stretch(self, x: Array, shape: Shape) -> Array:
        """`x` broadcast to a shape it is known to fit, read-only."""
        return self.broadcast_to(x, shape)

    def lies_in_rows(self, x: Array) -> bool:
        """Whether the elements of an array lie side by side, in rows."""
        return bool(x.flags.c_contiguous)

    # -- sums ------------------------------------------------------------------------------------------------------

    def average(self, x: Array, axis: Axis, keepdims: bool, count: int) -> Array:
        """The sum over axes, divided by how many elements were summed."""
        return self.true_divide(self.sum(x, axis=axis, keepdims=keepdims), count)

    def add_into(self, target: Array, other: Array) -> Array:
        """The sum of two arrays, in the memory of the first."""
        return self.add(target, other, out=target)

    def write_sum(self, target: Array, other: Array) -> None:
        """Adds an array to another, in place."""
        self.add(target, other, out=target)

    def reduced(
        self, how: str, function: Callable[..., Array], x: Array, axis: Axis, keepdims: bool, *beside: Array
    ) -> Array:
        """`function(x, *beside)`, of each element, reduced over axes by add, maximum or minimum."""
        values = function(x, *beside)
        if how == "add":
            return self.sum(values, axis=axis, keepdims=keepdims)
        by = self.max if how == "maximum" else self.min
        return by(values, axis=axis, keepdims=keepdims)

    def of_lines(self, function: Callable[..., Array], x: Array, *axes: int) -> Array:
        """`function(x)`, where lines along the axes know nothing of each other: some at a time, if there are many."""
        return function(x)

    def of_elements(self, function: Callable[..., Array], *xs: Array) -> Array:
        """A function of each element of arrays of one shape: of some at a time, if there are many."""
        return function(*xs)

    def special(self, name: str, plain: Callable[..., Array], x: Array, y: Array | None = None) -> Array:
        """A special function of real numbers, which `plain(backend, x)` or `plain(backend, x, y)` computes by NumPy."""
        return plain(self, x) if y is None else plain(self, x, y)

    def by_kernel(self, name: str, plain: Callable[..., Any], *args: Any) -> Any:
        """What a kernel gives for these arguments; `plain(backend, *args)` computes the same by NumPy."""
        return plain(self, *args)

    def running_sum(self, a: Array, axis: int, reverse: bool) -> Array:
        """The running sum along an axis, from the front or, reversed, from the back."""
        return running.running(self, self.cumsum, a, axis, reverse)

    def running_product(self, a: Array, axis: int, reverse: bool) -> Array:
        """The running product along an axis, from the front or, reversed, from the back."""
        return running.running(self, self.cumprod, a, axis, reverse)

    def top(self, x: Array, axis: Axis) -> Array:
        """The largest elements along axes, which stay as 1; minus infinity where there is none."""
        found: Array = x.max(axis=axis, keepdims=True, initial=-np.inf)
        return found

    def softmax(self, x: Array, axis: int | None) -> Array:
        """exp(x) / sum(exp(x)) along the axis."""
        return softmax.softmax(self, x, axis)

    def log_softmax(self, x: Array, axis: int | None) -> Array:
        """The logarithm of softmax, without overflow."""
        return softmax.log_softmax(self, x, axis)

    def logsumexp(self, x: Array, axis: Axis) -> Array:
        """log(sum(exp(x))) along the axes, which stay as 1, without overflow."""
        return softmax.logsumexp(self, x, axis)

    # -- products --------------------------------------------------------------------------------------------------

    def product(self, x: Array, y: Array) -> Array:
        """`x @ y`; half precision is summed in single, as PyTorch does."""
        if x.dtype is float16:
            return self.matmul(x.astype(float32), y.astype(float32)).astype(float16)
        return self.matmul(x, y)

    def layout_of(self, x: Array, y: Array) -> int:
        """How two matrices lie in memory whose product is taken: see kernels/products.py."""
        return layout_of(x, y)

    # -- indices ---------------------------------------------------------------------------------------------------

    def take_along(self, x: Array, index: Array, dim: int) -> Array:
        """The elements of x that an index names along a dimension. See Note [Positions]."""
        return along_axis.take_along(self, x, index, dim)

    def put_along(self, out: Array, index: Array, dim: int, values: Array) -> None:
        """Writes values, one for each place of the index or one for all, into a contiguous array."""
        along_axis.put_along(self, out, index, dim, values)

    def add_along(self, out: Array, index: Array, dim: int, values: Array) -> None:
        """Adds values, one for each place of the index, to a contiguous array; an element named twice gets both."""
        along_axis.add_along(self, out, index, dim, values)

    def add_at(self, out: Array, key: tuple[Any, ...], x: Array) -> Array:
        """Adds x to the elements of a contiguous `out` that `key` points at; one that comes twice gets both."""
        return along_axis.add_at(self, out, key, x)

    def outside(self, index: Array, low: int, high: int) -> Any:
        """The first index that is not from `low` to before `high`; None if there is none."""
        return along_axis.outside(self, index, low, high)

    def within_0_1(self, x: Array) -> bool:
        """Whether all numbers are probabilities."""
        return bool(((x >= 0) & (x <= 1)).all())

    # -- random numbers, optimisers --------------------------------------------------------------------------------

    def noise(self, stream: Any, like: Array, p: float, scale: Any) -> Array:
        """An array of the shape and dtype of `like`: 0 with probability `p`, else `scale`."""
        return noise(self, stream, like, p, scale)

    def sgd_steps(self, rows: list[Any], rates: Any) -> None:
        """A step of gradient descent for each row: see kernels/optimizer_steps.py."""
        step: Any = optimizer_steps.sgd_step
        for row in rows:
            step(self, *row, rates)

    def adam_steps(self, rows: list[Any], rates: Any) -> None:
        """A step of Adam or AdamW for each row."""
        step: Any = optimizer_steps.adam_step
        for row in rows:
            step(self, *row, rates)

    def formula_steps(self, rows: list[Any], optimizer: Any) -> None:
        """A step for each row by the formula of an optimiser: see optim/formula.py."""
        for row in rows:
            optimizer.move(self, row)

    # -- kernels whose plain version is the formula of an op ---------------------------------------------------------

    def softmax_backward(self, op: Any, g: Any, out: Any) -> Any:
        """The gradient of softmax's input."""
        return op.formula(g, out)

    def log_softmax_backward(self, op: Any, g: Any, out: Any) -> Any:
        """The gradient of log_softmax's input."""
        return op.formula(g, out)

    def logsumexp_backward(self, op: Any, g: Any, x: Any, out: Any) -> Any:
        """The gradient of logsumexp's input."""
        return op.formula(g, x, out)

    def variance(self, op: Any, x: Any) -> Any:
        """The variance along axes, or its root."""
        return op.computed(self, x)

    def variance_backward(self, op: Any, g: Any, x: Any) -> Any:
        """The gradient of the variance's input."""
        return op.formula(g, x)

    def layer_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        """Normalised over the last dimensions; and moments, which the backward wants back."""
        return op.computed(self, xs), None

    def layer_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        """The gradients of input, weight and bias; None where `wanted` has no bit."""
        return op.formula(g, xs)  # type: ignore[no-any-return]

    def rms_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        """Over the root of the mean square of the last dimensions; and moments, which the backward wants back."""
        return op.computed(self, xs), None

    def rms_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        """The gradients of input and weight; None where `wanted` has no bit."""
        return op.formula(g, xs)  # type: ignore[no-any-return]

    def group_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        """Normalised within each sample and group of channels."""
        return op.computed(self, xs), None

    def group_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        """The gradients of `group_norm`."""
        return op.formula(g, xs)  # type: ignore[no-any-return]

    def batch_norm(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        """Normalised within each channel, by given statistics or its own."""
        return op.computed(self, xs), None

    def batch_norm_backward(self, op: Any, g: Any, xs: Sequence[Any], wanted: int) -> Sequence[Any]:
        """The gradients of `batch_norm`."""
        return op.formula(g, xs)  # type: ignore[no-any-return]

    def conv_correlate(self, op: Any, x: Any, w: Any, b: Any) -> Any:
        """The products of a weight with all windows of an input, plus a bias."""
        return op.computed(self, x, w, b)

    def conv_spread(self, op: Any, y: Any, w: Any, b: Any) -> Any:
        """A weight times each output, added up where the windows were, plus a bias."""
        return op.computed(self, y, w, b)

    def conv_overlap(self, op: Any, x: Any, y: Any) -> Any:
        """The products of all windows of an input with an output."""
        return op.computed(self, x, y, None)

    def channel_sums(self, g: Any) -> Any:
        """The sums over all dimensions but the second."""
        return g.sum(axis=(0, *range(2, g.ndim)))

    def max_pool(self, op: Any, x: Any) -> Any:
        """The largest element of each window; with `op.wanted` a pair of them and of their positions."""
        return op.computed(self, x)

    def max_cover(self, op: Any, x: Any) -> Any:
        """The largest elements of windows that say what they cover in each dimension, and their positions."""
        return op.computed(self, x)

    def max_pool_backward(self, op: Any, g: Any) -> Any:
        """Gradients added at the positions of largest elements."""
        return op.formula(g)

    def avg_pool(self, op: Any, x: Any) -> Any:
        """The sum of each window, divided."""
        return op.computed(self, x)

    def avg_pool_backward(self, op: Any, g: Any) -> Any:
        """Each number divided, and added to every place of its window."""
        return op.computed(self, g)

    def attention(self, op: Any, xs: Sequence[Any]) -> Any:
        """softmax(scale * q @ k.mT + mask) @ v, for xs = (q, k, v, mask)."""
        return op.computed(self, xs)

    def attention_backward(self, op: Any, g: Any, xs: Sequence[Any], out: Any, wanted: int) -> Sequence[Any]:
        """The gradients of q, k and v; None where `wanted` has no bit. `out` is what the forward gave."""
        return op.formula(g, xs)  # type: ignore[no-any-return]

    def recurrence(self, op: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
        """All times of a recurrent layer; and notes, which the backward wants back."""
        return op.run(xs)  # type: ignore[no-any-return]

    def recurrence_backward(self, op: Any, gs: Sequence[Any], xs: Sequence[Any]) -> Sequence[Any]:
        """The gradients of a recurrent layer's inputs."""
        return op.formula(gs, xs, op.noted(self, xs))  # type: ignore[no-any-return]

    def loss(self, op: Any, x: Any, target: Any) -> Any:
        """Losses of predictions and targets of one shape, as they are, their mean or their sum."""
        return op.computed(self, x, target)

    def loss_backward(self, op: Any, i: int, g: Any, x: Any, target: Any) -> Any:
        """The gradient of the predictions (i = 0) or of the targets."""
        return op.formula(i, g, x, target)

    def nll(self, op: Any, xs: Sequence[Any]) -> Any:
        """Minus the log-probability of the target classes, times their weights."""
        return op.computed(self, xs)

    def nll_backward(self, op: Any, g: Any, xs: Sequence[Any]) -> Any:
        """The gradient of the log-probabilities."""
        return op.formula(g, xs)

    def embedding_backward(self, op: Any, g: Any) -> Any:
        """A table each of whose rows is the sum of the rows of g with its index."""
        return op.computed(self, g)

    def mm_backward(self, op: Any, i: int, turned: bool, g: Any, x: Any, y: Any) -> Any:
        """The gradient of operand `i` of a product of two matrices; `turned` if it is to lie column by column."""
        return op.formula(i, g, x, y)

    def bmm_backward(self, op: Any, i: int, g: Any, x: Any, y: Any) -> Any:
        """The same for matrices pair by pair."""
        return op.formula(i, g, x, y)

    def mv_backward(self, op: Any, g: Any, x: Any) -> Any:
        """The gradient of the vector of a product with a matrix."""
        return op.formula(1, g, x, None)

    def join(self, op: Any, xs: Sequence[Any]) -> Any:
        """Several arrays as one along a dimension, a new one or one they have."""
        return op.computed(self, xs)

    def addmm(self, op: Any, x: Any, y: Any, z: Any) -> Any:
        """`x + y @ z`, as `linear` computes it."""
        return op.computed(self, x, y, z)


def mixed_devices(names: Sequence[str]) -> RuntimeError:
    """The error of operands that live on several devices."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{' and '.join(sorted(names))}! Move one with .to(device)."
    )


FORMULAS: Final = Backend()


# -- which backend belongs to which arrays ---------------------------------------------------------------------------


def _default_stream() -> int:
    """The queue of work where there is but one."""
    return 0


class Registry:
    """The backends there are."""

    def __init__(self) -> None:
        self.by_class: dict[Any, Backend] = {}  # of arrays
        self.array_classes: tuple[type, ...] = ()
        self.foreign: set[Any] = set()  # classes of arrays that are not NumPy's
        self.homes: dict[Any, device] = {}  # the device of all arrays of a class, where there is but one
        self.by_device: dict[str, Backend] = {}
        self.cpu: Backend = FORMULAS  # of NumPy's own arrays, until `native.py` puts a better one here
        self.stream_now: Any = _default_stream  # says which queue of the GPU this thread's work goes into
        self.of_bfloat16: Any = None  # that of bfloat16, once somebody has used it
        self.mapped: bool = False  # whether a `vmap` has ever run: since then parameters may be batched

    def on(self, where: device | None) -> Any:
        """The backend of a device, None being the CPU."""
        return self.cpu if where is None or where.type == "cpu" else self.by_device[where.type]


BACKENDS: Final = Registry()


def register(backend: Backend, *array_classes: type) -> None:
    """Makes a kind of array known: arrays of these classes are computed on by `backend`.

    Its `device_type` becomes a device that `tensor.to(...)` reaches. docs/inside/backends.md shows a whole one.
    """
    for cls in array_classes:
        BACKENDS.by_class[cls] = backend
    if backend is not FORMULAS:
        BACKENDS.array_classes += array_classes
    kind = backend.device_type
    if kind and kind != "cpu":
        BACKENDS.foreign.update(array_classes)
    if kind and array_classes:
        BACKENDS.by_device.setdefault(kind, backend)
        if kind not in DEVICE_TYPES:
            DEVICE_TYPES.append(kind)


def backend_of(value: Any) -> Backend:
    """The backend that computes on an array; `FORMULAS` for a Tensor, and the CPU's for a number."""
    if type(value) is ndarray:
        return BACKENDS.cpu
    found = BACKENDS.by_class.get(type(value))
    return _backend_of_class(value) if found is None else found.of(value)


def _backend_of_class(value: Any) -> Backend:
    """The backend of a class that is not itself registered: its nearest ancestor's."""
    for cls in type(value).__mro__:
        if cls in BACKENDS.by_class:
            BACKENDS.by_class[type(value)] = BACKENDS.by_class[cls]
            return BACKENDS.by_class[cls].of(value)
    return BACKENDS.cpu


def common_backend(values: Sequence[Any]) -> Backend:
    """The backend for several operands: the first that is not the CPU's, or of two such the one that takes both."""
    found: Backend | None = None
    for v in values:
        if type(v) is ndarray or v is None:
            continue
        backend = backend_of(v)
        if backend is FORMULAS:
            return backend
        if backend is BACKENDS.cpu:
            continue
        found = backend if found is None or found is backend else found.joined(backend)
    return BACKENDS.cpu if found is None else found


# -- questions about any array ---------------------------------------------------------------------------------------


def is_array(value: object) -> bool:
    """Whether `value` is an array that a Tensor can hold as it is."""
    return isinstance(value, BACKENDS.array_classes) or _is_first_of_gpu(value)


def _is_first_of_gpu(value: object) -> bool:
    """Whether `value` is the first array of CuPy's that anybody brings: from now on these are known."""
    if "cuda" in BACKENDS.by_device or not hasattr(type(value), "__cuda_array_interface__"):
        return False
    open_device("cuda")
    return isinstance(value, BACKENDS.array_classes)


def open_device(kind: str) -> bool:
    """Whether a kind of device can be used; CuPy is loaded when somebody first asks for a GPU."""
    if kind == "cuda" and kind not in BACKENDS.by_device:
        importlib.import_module("retrograd.backends.gpu.backend").install()
    if kind == "meta" and kind not in BACKENDS.by_device:
        importlib.import_module("retrograd.backends.meta")
    return kind in BACKENDS.by_device


def accelerator() -> device | None:
    """The kind of device that computes beside the CPU, a GPU; None where there is none."""
    try:
        return device("cuda") if open_device("cuda") else None
    except RuntimeError:
        return None


def as_array(value: Any) -> Array:
    """An array again: NumPy turns 0-dim results into scalars."""
    return value if type(value) is ndarray or is_array(value) else np.asarray(value)


def device_of(array: Array) -> device:
    """The device an array lives on."""
    if type(array) is ndarray:
        return CPU
    home = BACKENDS.homes.get(type(array))
    if home is not None:
        return home
    found: device = backend_of(array).device_of(array)
    return found


def plain(array: Array) -> Array:
    """NumPy's own array in the place of a subclass of its, which computes otherwise: a matrix, a masked array."""
    if isinstance(array, np.ndarray) and type(array) is not ndarray and backend_of(array).is_plain:
        return np.asarray(array)
    return array


def where_of(array: Array) -> device | None:
    """The device an array lives on, None for the CPU: how nodes remember it."""
    if not BACKENDS.foreign:
        return None
    found = device_of(array)
    return None if found is CPU else found


def whole(array: Array) -> Array:
    """The array in which all elements lie: see `Backend.whole`."""
    return array if type(array) is ndarray else backend_of(array).whole(array)


def stands_for_many(array: Array) -> bool:
    """Whether an array stands for all samples of a `vmap`."""
    return type(array) is not ndarray and backend_of(array).stands_for_many


def is_writable(array: Array) -> bool:
    """Whether an array may be written into."""
    return bool(array.flags.writeable if type(array) is ndarray else backend_of(array).is_writable(array))


def owner_of(array: Array) -> Array:
    """The array that owns the memory of another."""
    return backend_of(array).owner_of(array)


def extent_of(array: Array) -> tuple[int, int, int]:
    """The addresses of an array's first element, of its first byte, and of the byte behind its last."""
    found: tuple[int, int, int] = backend_of(array).extent_of(array)
    return found


def check_device(where: object) -> device:
    """The device meant by `where` (a string, an index, a device, None for the default), if arrays can be made there."""
    if where is None:
        where = default_device()
    found = where if isinstance(where, device) else device(where)  # type: ignore[arg-type]
    if found.type == "cpu":
        return CPU
    try:
        if open_device(found.type):
            numbered: device = BACKENDS.by_device[found.type].numbered(found)
            return numbered
    except RuntimeError as error:
        text = f"device '{found}' is not available: {error}"
        if found.type == "cuda" and "cuda" not in BACKENDS.by_device:
            raise NoCudaError(f"Torch not compiled with CUDA enabled: {text}") from error
        raise RuntimeError(text) from error
    raise RuntimeError(
        f"device '{found}' is not available: retrograd computes on the CPU with NumPy and on NVIDIA's GPUs with CuPy. "
        "Use device='cpu' (the default)."
    )


def placed(array: Array, where: device) -> Array:
    """An array in the memory of a device that `check_device` has found: itself if it is there."""
    return array if device_of(array) == where else BACKENDS.on(where).bring(array, where)
