"""Parameter, Buffer and their forms without a shape: the tensors that a module holds."""

from __future__ import annotations

from typing import Any

from retrograd.core.tensor import Tensor
from retrograd.errors import type_name
from retrograd.ops.tensor.create import empty
from retrograd.overrides.state import disabled

_LAZY_HINT = (
    "Call the module once with a sample batch: it then learns the shapes of its parameters from the input."
)


class _ParameterKind(type(Tensor)):  # type: ignore[misc]
    """Lets `isinstance(t, Parameter)` hold for tensors of other classes that were made parameters."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterKind):
    """A tensor that a module trains: assigned to an attribute of a module, it is one of its `parameters()`.

    Args:
        data: the tensor whose memory it has.
        requires_grad: whether it gets a gradient.

    >>> import retrograd as rg
    >>> rg.nn.Parameter(rg.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __torch_function__: Any = staticmethod(disabled)  # what is computed from a parameter is no parameter
    _asks = True  # nor is it where another class has made it, by `_make_subclass`

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise AttributeError(
                f"a parameter is made of a tensor, but got {type_name(data)}, which has no attribute 'detach'"
            )
        if type(data) is not Tensor and not isinstance(data, (Parameter, UninitializedTensorMixin)):
            other: Any = data.detach().requires_grad_(requires_grad)  # a class of the user's keeps its class
            other._is_param = True
            return other
        made = Tensor.__new__(cls)
        made.array = data.array
        made._counter = data._version_counter()
        made._keeps_class = False  # what is computed from a parameter is none
        made.requires_grad = requires_grad
        return made

    def __init__(self, *args: Any, **named: Any) -> None:
        pass  # __new__ has done it, which in a subclass may ask for more

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        if type(self) is not Parameter:
            return f"Parameter containing:\nParameter({Tensor.__repr__(self)})"
        plain = Tensor(self.array, share=True)
        plain._requires = self._requires
        return f"Parameter containing:\n{plain!r}"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return rebuild_parameter, (type(self), self.array, self.requires_grad, self._user_state())


def rebuild_parameter(cls: Any, array: Any, requires_grad: bool, state: dict[str, Any]) -> Any:
    """A parameter over an array: what unpickling calls."""
    made = cls(Tensor(array, share=True), requires_grad)
    made.__dict__.update(state)
    return made


class _BufferKind(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and bool(getattr(instance, "_is_buffer", False))


class Buffer(metaclass=_BufferKind):
    """A tensor that a module holds and does not train: `self.mean = Buffer(rg.zeros(3))` registers it.

    What this makes is an ordinary Tensor that is marked as a buffer.

    Args:
        data: the tensor.
        persistent: whether it is a part of the module's `state_dict()`.

    >>> import retrograd as rg
    >>> module = rg.nn.Module()
    >>> module.mean = rg.nn.Buffer(rg.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        made: Any = empty(0) if data is None else data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made


# ---- tensors that have no shape yet ---------------------------------------------------------------------------------


class _NoValues:
    """Stands for an array: whoever asks it for anything, as every operation does, is told why there is none."""

    def __getattr__(self, name: str) -> Any:
        raise ValueError(
            "Attempted to use an uninitialized parameter or buffer: it has no values, nor a shape. "
            + _LAZY_HINT
        )


NO_VALUES = _NoValues()


class UninitializedTensorMixin:
    """What parameters and buffers without a shape share. They get one by `materialize`, and become ordinary ones.

    Such a tensor's array is `NO_VALUES`; `blank`, an empty tensor, says which dtype and device it will have.
    """

    cls_to_become: Any = None
    blank: Tensor
    array: Any

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Makes this an ordinary parameter or buffer of a shape; its values are not set.

        Args:
            shape: of the tensor that is to be.
            device: where it lies, by default where this one does.
            dtype: by default that of this one.
        """
        blank = self.__dict__.pop("blank")
        self.__class__ = self.cls_to_become
        made = empty(
            shape,
            device=blank.device if device is None else device,
            dtype=blank.dtype if dtype is None else dtype,
        )
        self.array = made.array

    def convert(self, change: Any) -> None:
        """Changes dtype or device as `change`, a function of tensors, does it."""
        self.blank = change(self.blank)

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
            + _LAZY_HINT
        )

    @property
    def dtype(self) -> Any:
        return self.blank.dtype

    @property
    def device(self) -> Any:
        return self.blank.device

    def detach(self) -> Any:
        return self

    def share_memory_(self) -> Any:
        raise RuntimeError("Can't share memory on an uninitialized parameter or buffer. " + _LAZY_HINT)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        tensor: Any = self
        return type(self), (tensor.requires_grad, self.device, self.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            kind, args = self.__reduce_ex__(4)
            memo[id(self)] = kind(*args)
        return memo[id(self)]


def _without_shape(cls: Any, requires_grad: bool, blank: Tensor) -> Any:
    """A tensor of class `cls` without a shape, of the dtype and device of `blank`."""
    made: Any = Tensor.__new__(cls)
    made.array = NO_VALUES
    made.blank = blank
    made._keeps_class = False
    made._requires = requires_grad
    return made


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet: a lazy module finds it when it is first called.

    Args:
        requires_grad: whether it gets a gradient.
        device: where it will lie.
        dtype: what it will hold.

    >>> import retrograd as rg
    >>> p = rg.nn.UninitializedParameter()
    >>> p
    <UninitializedParameter>
    >>> p.materialize((2, 3)); p.shape
    torch.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _without_shape(cls, requires_grad, empty(0, device=device, dtype=dtype))


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet: a lazy module finds it when it is first called."""

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        made = _without_shape(cls, requires_grad, empty(0, device=device, dtype=dtype))
        made.persistent = persistent
        made._is_buffer = True
        return made

    def __init__(self, *args: Any, **named: Any) -> None:
        pass


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)
