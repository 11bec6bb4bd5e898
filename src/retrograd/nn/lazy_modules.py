"""Lazy modules: they learn the shapes of their parameters from their first input, and become ordinary modules."""

from __future__ import annotations

from typing import Any

from retrograd.core.hooks import RemovableHandle
from retrograd.nn.parameter import is_lazy


class LazyModuleMixin:
    """Makes a module lazy: its parameters are UninitializedParameters until it is first called.

    A subclass sets `cls_to_become`, the class that it has then, and `initialize_parameters(self, *args, **kwargs)`,
    which gets the arguments of that call and gives the parameters shapes by `materialize`.

    >>> import retrograd as rg
    >>> layer = rg.nn.LazyLinear(2)
    >>> layer(rg.ones(1, 5)).shape, layer
    (torch.Size([1, 2]), Linear(in_features=5, out_features=2, bias=True))
    """

    cls_to_become: Any = None
    _load_hook: RemovableHandle
    _initialize_hook: RemovableHandle

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *_: Any) -> None:
        """Gives parameters the shapes that those of a state dict have."""
        for name, tensor in self._own_state():  # type: ignore[attr-defined]
            value = state_dict.get(prefix + name)
            if value is not None and is_lazy(tensor) and not is_lazy(value):
                tensor.materialize(value.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters shapes, by the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        module: Any = self
        return any(is_lazy(t) for t in (*module._parameters.values(), *module._buffers.values()))

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module.initialize_parameters(*args, **kwargs)
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {type(self).__name__} has not been fully initialized: initialize_parameters() must give "
                "every parameter and buffer a shape"
            )
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
