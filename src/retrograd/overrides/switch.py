"""Putting forms that ask in place when the first class wants to be asked.

Note [Overriding functions]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
`rg.exp(x)` must call `type(x).__torch_function__` if there is one. To look for it in every call would cost every
program; so nothing looks for it until a program has such a class. What tells us:

- a subclass of Tensor with a `__torch_function__` of its own is made (`Tensor.__init_subclass__`);
- a `TorchFunctionMode` is entered, in which case all is as before when it is left;
- under the alias, a class of any kind is made that has the method (`alias/classes.py`);
- the program calls `rg.overrides.switch_on()`.

Then every public function and method is replaced by a form that asks (`forms.py`), in the packages' namespaces, in the
modules of `nn` that call it, and in the class Tensor; operators go through another object of `UPWARD`. Our own modules
still call each other directly: a class is asked about what a program calls, and not about what that calls in turn, as
in PyTorch. A name that a program has bound before (`from torch import exp`) stays the function that does not ask.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from retrograd import lazy, public_names
from retrograd.core.plain import MethodForm, TensorMethods
from retrograd.core.upward import UPWARD
from retrograd.overrides.forms import AskingFunction, asking_operators

# The packages whose functions ask, and the names that they have in public_names.
_PACKAGES = {
    "retrograd": public_names.FUNCTIONS,
    "retrograd.nn.functional": public_names.FUNCTIONAL,
    "retrograd.linalg": public_names.LINALG,
    "retrograd.fft": public_names.FFT,
    "retrograd.special": public_names.SPECIAL,
    "retrograd.autograd": {"retrograd.autograd.backward": "grad"},
}
# Functions that take no tensor, or must see it as it is: PyTorch does not ask about them either.
IGNORED = frozenset({
    "are_deterministic_algorithms_enabled", "autocast", "can_cast", "from_numpy", "get_default_device",
    "get_default_dtype", "get_deterministic_debug_mode", "get_float32_matmul_precision", "get_rng_state",
    "initial_seed", "is_storage", "is_tensor", "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled", "manual_seed", "promote_types", "seed", "set_default_device",
    "set_default_tensor_type", "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal",
    "set_rng_state", "set_warn_always", "typename", "use_deterministic_algorithms",
})  # fmt: skip
PROPERTIES = frozenset({
    "H", "T", "imag", "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized",
    "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu", "layout", "mH", "mT", "real", "volatile",
})  # fmt: skip


class Switch:
    """Whether functions ask, and their forms that do."""

    def __init__(self) -> None:
        self.on = self.for_good = False
        self.open_modes = 0
        self.operators: Any = None  # those that do not ask
        self.names: dict[str, frozenset[str]] = {
            package: _short_names(table) - IGNORED for package, table in _PACKAGES.items()
        }
        self.asking: dict[int, AskingFunction] = {}  # by the id of the function
        self.swept: set[str] = set()

    def form(self, package: str, name: str, found: Any) -> Any:
        """What a package gives for a name: a function as one that asks."""
        if name not in self.names.get(package, ()) or isinstance(found, AskingFunction):
            return found
        path = package.removeprefix("retrograd").removeprefix(".")
        asking = AskingFunction(f"torch.{path}.{name}" if path else f"torch.{name}", found)
        if path == "nn.functional" or id(found) not in self.asking:
            self.asking[id(found)] = asking
        return asking

    def sweep(self) -> None:
        """Has modules of `nn` call the forms that ask."""
        for name, module in list(sys.modules.items()):
            if name.startswith("retrograd.nn.") and name not in self.swept and name not in _PACKAGES:
                self.swept.add(name)
                self._sweep(module)

    def forget(self) -> None:
        """Has them call the functions themselves again."""
        for name in self.swept:
            names = vars(sys.modules[name])
            names.update({n: _plain(v) for n, v in names.items() if isinstance(v, AskingFunction)})
        self.swept.clear()
        self.asking.clear()

    def _sweep(self, module: ModuleType) -> None:
        for name, value in list(vars(module).items()):
            if callable(value) and not isinstance(value, (type, AskingFunction)):
                asking = self.asking.get(id(value)) or self._asking(value)
                if asking is not None:
                    vars(module)[name] = asking

    def _asking(self, function: Any) -> Any:
        """The form of a function that `nn.functional` has under its own name, if it has."""
        package = "retrograd.nn.functional"
        name = getattr(function, "__name__", "")
        if name not in self.names[package] or not str(getattr(function, "__module__", "")).startswith(
            "retrograd.ops"
        ):
            return None
        found = getattr(lazy.load(package), name)
        return found if found == function else None


def _short_names(table: dict[str, str]) -> frozenset[str]:
    """The names of a table of public_names, without in-place forms that are methods only."""
    return frozenset(clause.partition("=")[0] for clauses in table.values() for clause in clauses.split())


SWITCH = Switch()


def switch_on() -> None:
    """Has every function ask its arguments for `__torch_function__` from now on; a second call does nothing.

    Subclasses of Tensor and modes do this by themselves. Other classes with the method do so under `retrograd run`.
    """
    SWITCH.for_good = True
    _switch(True)


def switch_for_a_mode(entered: bool) -> None:
    """Does so while modes are open, unless functions ask in any case."""
    SWITCH.open_modes += 1 if entered else -1
    _switch(SWITCH.for_good or SWITCH.open_modes > 0)


def _switch(on: bool) -> None:
    if SWITCH.on is on:
        return
    SWITCH.on = on
    lazy.FORMS.of_names, lazy.FORMS.of_loads = (SWITCH.form, SWITCH.sweep) if on else (None, None)
    for package in _PACKAGES:
        if package in sys.modules:
            names = vars(sys.modules[package])
            names.update({n: SWITCH.form(package, n, v) if on else _plain(v) for n, v in names.items()})
    for name, method in list(vars(TensorMethods).items()):
        if on and _is_method(name, method):
            setattr(TensorMethods, name, AskingFunction(f"torch.Tensor.{name}", method))
        elif isinstance(method, AskingFunction):
            setattr(TensorMethods, name, method.form)
    if on:
        SWITCH.operators, UPWARD.operators = UPWARD.operators, asking_operators()
        SWITCH.sweep()
    else:
        UPWARD.operators = SWITCH.operators
        SWITCH.forget()
    if lazy.FORMS.changed is not None:
        lazy.FORMS.changed()


def _plain(value: Any) -> Any:
    return value.__wrapped__ if isinstance(value, AskingFunction) else value


def _is_method(name: str, method: Any) -> bool:
    if name in PROPERTIES or name.startswith("__") or name in {"_make_subclass", "as_subclass"}:
        return False
    return isinstance(method, MethodForm) or (callable(method) and not isinstance(method, AskingFunction))
