"""Modules that hold modules: Sequential, ModuleList, ModuleDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Container as AbstractContainer
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Self

from retrograd.core.places import warn
from retrograd.nn.module import Module


class Container(Module):
    """What came before Module could hold modules: deprecated, use a Module."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warn(
            "`nn.Container` is deprecated: an nn.Module does all that it does.",
            FutureWarning,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


def _place(modules: Mapping[str, Any], index: Any) -> int:
    """A place in a sequence of modules, counted from its begin."""
    size, i = len(modules), operator.index(index)
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of range")
    return i % size


def _number(owner: Module, modules: list[Any]) -> None:
    """Makes these the modules of a sequence, by their numbers."""
    owner._modules.clear()
    owner._modules.update({str(i): module for i, module in enumerate(modules)})


class Sequential(Module):
    """Modules that are called one after the other, each with the result of the last.

    Args:
        args: the modules; or one OrderedDict of modules by name.

    >>> import retrograd as rg
    >>> model = rg.nn.Sequential(rg.nn.Linear(4, 8), rg.nn.Tanh(), rg.nn.Linear(8, 1))
    >>> model(rg.ones(2, 4)).shape
    torch.Size([2, 1])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        """What the last module makes of it."""
        for module in self._modules.values():
            input = module(input)
        return input

    def _key(self, index: Any) -> str:
        return next(islice(self._modules, _place(self._modules, index), None))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: Any) -> None:
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        _number(self, list(self._modules.values()))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __add__(self, other: Iterable[Any]) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Iterable[Any]) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*self._repeated(other))

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        return self.extend(list(self._repeated(other))[len(self) :])

    def _repeated(self, times: int) -> Iterable[Module]:
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return chain.from_iterable(list(self) for _ in range(times))

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Adds a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        _number(self, modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Adds several modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def pop(self, key: Any) -> Module:
        """Takes out the module at an index, and gives it."""
        module: Module = self[key]
        del self[key]
        return module


class ModuleList(Module):
    """A list of modules, which know to whom they belong; it has no `forward`.

    >>> import retrograd as rg
    >>> layers = rg.nn.ModuleList([rg.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), [name for name, _ in layers.named_parameters()][:2]
    (3, ['0.weight', '0.bias'])
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[str(_place(self._modules, index))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(_place(self._modules, index)), module)

    def __delitem__(self, index: Any) -> None:
        gone = range(len(self))[index] if isinstance(index, slice) else [_place(self._modules, index)]
        for i in gone:
            delattr(self, str(i))
        _number(self, list(self._modules.values()))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before the one at `index`."""
        modules = list(self._modules.values())
        modules.insert(index, module)
        _number(self, modules)

    def append(self, module: Module | None) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: Any) -> Any:
        """Takes out the module at an index, and gives it."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds several modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in modules:
            self.append(module)
        return self

    def __repr__(self) -> str:
        """The modules in lines; such as print alike in one line, with their number."""
        texts = [repr(module) for module in self]
        if not texts:
            return f"{self._get_name()}()"
        runs: list[tuple[int, int, str]] = []
        for i, text in enumerate(texts):
            if runs and runs[-1][2] == text:
                runs[-1] = runs[-1][0], i, text
            else:
                runs.append((i, i, text))
        lines = [
            f"({first}-{last}): {last - first + 1} x {text}" if first != last else f"({first}): {text}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(line.replace("\n", "\n  ") for line in lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules by name; it has no `forward`.

    >>> import retrograd as rg
    >>> choices = rg.nn.ModuleDict({"relu": rg.nn.ReLU(), "tanh": rg.nn.Tanh()})
    >>> choices["tanh"], list(choices)
    (Tanh(), ['relu', 'tanh'])
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes out all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Takes out a module, and gives it."""
        return self._modules.pop(key)

    def keys(self) -> AbstractContainer[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The names with their modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Adds modules from a dict, or from pairs of name and module."""
        for name, module in pairs_of(modules, "ModuleDict"):
            self[name] = module


def pairs_of(given: Any, owner: str) -> Iterable[tuple[Any, Any]]:
    """The pairs in what a dict is updated with: a mapping, or an iterable of pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{owner}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if hasattr(given, "items"):
        return given.items()  # type: ignore[no-any-return]
    found = []
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{owner} update sequence element #{i} should be Iterable; is {type(pair).__name__}"
            )
        if len(pair) != 2:  # type: ignore[arg-type]
            raise ValueError(
                f"{owner} update sequence element #{i} has length {len(pair)}; 2 is required"  # type: ignore[arg-type]
            )
        found.append(tuple(pair))
    return found
