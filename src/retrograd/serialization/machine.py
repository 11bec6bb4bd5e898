"""Reading a pickle without running it: an unpickler that knows no code but ours.

Note [Pickles that run nothing]
~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
A pickle is a program for a small stack machine. Python's own machine calls whatever the program names, and hands
states to `__setstate__`. This one calls the functions of rebuild.py, which check what they get, and what a user has
added with `add_safe_globals`; a program that names anything else is refused. Instructions are taken apart by
`pickletools`, which only reads. Work is bounded too: a program may refer to one long text many times, so what our
functions are handed is added up and compared with the length of the program.
"""

from __future__ import annotations

import pickle
import pickletools
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, BinaryIO, Final

from retrograd.serialization.names import KNOWN, MAKERS, added, full_name
from retrograd.serialization.rebuild import Shell, check_key, make_frozenset, plain_state
from retrograd.serialization.storages import refused, unknown_kind

# Instructions whose argument is the value they put on the stack.
_LITERALS: Final = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
    "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
    "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip
_FRESH: Final[dict[str, Callable[[], Any]]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
}
_TUPLES: Final = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_MARK: Final = object()


class Machine:
    """Runs one pickle, and no code but ours.

    Args:
        file: where the pickle begins; it stands behind it afterwards.
        length: how many bytes the file has in all.
        persistent: gives the object that an identifier, as a tuple, stands for.
    """

    def __init__(self, file: BinaryIO, length: int, persistent: Callable[[Any], Any]) -> None:
        self._file = file
        self._persistent = persistent
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._budget = 8 * length + 65536
        self._added = added()

    def load(self) -> Any:
        """The object that the pickle describes."""
        for opcode, argument, _ in pickletools.genops(self._file):
            name = opcode.name
            if name in _LITERALS:
                self._stack.append(argument)
            elif name in _FRESH:
                self._stack.append(_FRESH[name]())
            elif name in _TUPLES:
                self._stack.append(tuple(self._take(_TUPLES[name])))
            elif name == "STOP":
                return self._result()
            else:
                step = _STEPS.get(name)
                if step is None:
                    raise pickle.UnpicklingError(
                        f"Weights only load failed: the file's pickle uses {name}, which no file of tensors needs"
                    )
                step(self, argument)
        raise refused("its pickle has no end")

    def _result(self) -> Any:
        (found,) = self._take(1)
        if isinstance(found, Shell) or self._stack:
            raise refused("its pickle ends too early")
        return found

    # -- the stack ---------------------------------------------------------------------------------------------------

    def _take(self, count: int) -> list[Any]:
        """The last values, off the stack."""
        found = self._stack[-count:]
        if len(found) < count or any(value is _MARK for value in found):
            raise refused("its pickle takes more than there is")
        del self._stack[-count:]
        return found

    def _since_mark(self) -> list[Any]:
        """The values behind the last mark, off the stack with it."""
        for i in range(len(self._stack) - 1, -1, -1):
            if self._stack[i] is _MARK:
                found = self._stack[i + 1 :]
                del self._stack[i:]
                return found
        raise refused("its pickle has no mark")

    def _mark(self, _: Any) -> None:
        self._stack.append(_MARK)

    def _pop(self, _: Any) -> None:
        if not self._stack:
            raise refused("its pickle takes more than there is")
        del self._stack[-1]

    def _pop_mark(self, _: Any) -> None:
        self._since_mark()

    def _top(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise refused("its pickle takes more than there is")
        return self._stack[-1]

    def _duplicate(self, _: Any) -> None:
        self._stack.append(self._top())

    # -- the memo ----------------------------------------------------------------------------------------------------

    def _get(self, key: Any) -> None:
        if key not in self._memo:
            raise refused("its pickle refers to what it has not made")
        self._stack.append(self._memo[key])

    def _put(self, key: Any) -> None:
        value = self._top()
        self._memo[key] = value
        if isinstance(value, Shell):
            value.keys.append(key)

    def _memoize(self, _: Any) -> None:
        self._put(len(self._memo))

    # -- containers --------------------------------------------------------------------------------------------------

    def _tuple(self, _: Any) -> None:
        self._stack.append(tuple(self._since_mark()))

    def _list(self, _: Any) -> None:
        self._stack.append(self._since_mark())

    def _dict(self, _: Any) -> None:
        items = self._since_mark()
        self._stack.append({})
        self._set(items)

    def _frozenset(self, _: Any) -> None:
        self._stack.append(make_frozenset(self._since_mark()))

    def _append(self, _: Any) -> None:
        self._extend(self._take(1))

    def _appends(self, _: Any) -> None:
        self._extend(self._since_mark())

    def _extend(self, items: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, (list, deque)):
            raise refused(f"it adds to a {type(target).__name__} as if it were a list")
        target.extend(items)

    def _add_items(self, _: Any) -> None:
        items, target = self._since_mark(), self._top()
        if type(target) is not set:
            raise refused(f"it adds to a {type(target).__name__} as if it were a set")
        target.update(check_key(item) for item in items)

    def _set_item(self, _: Any) -> None:
        self._set(self._take(2))

    def _set_items(self, _: Any) -> None:
        self._set(self._since_mark())

    def _set(self, items: list[Any]) -> None:
        target = self._top()
        if not isinstance(target, dict) or len(items) % 2:
            raise refused(f"it sets items of a {type(target).__name__}")
        for i in range(0, len(items), 2):
            target[check_key(items[i])] = items[i + 1]

    # -- names and what is made of them ------------------------------------------------------------------------------

    def _global(self, argument: Any) -> None:
        module, _, name = argument.partition(" ")
        self._name(module, name)

    def _stack_global(self, _: Any) -> None:
        module, name = self._take(2)
        if type(module) is not str or type(name) is not str:
            raise refused("a name in its pickle is no text")
        self._name(module, name)

    def _name(self, module: str, name: str) -> None:
        full = full_name(module, name)
        if full in self._added:
            self._stack.append(self._added[full])
        elif full in KNOWN:
            self._stack.append(KNOWN[full])
        else:
            raise unsupported(full)

    def _reduce(self, _: Any) -> None:
        function, args = self._take(2)
        self._stack.append(self._called(function, args, {}))

    def _new(self, _: Any) -> None:
        cls, args = self._take(2)
        self._stack.append(self._instance(cls, args, {}))

    def _new_ex(self, _: Any) -> None:
        cls, args, kwargs = self._take(3)
        self._stack.append(self._instance(cls, args, kwargs))

    def _called(self, function: Any, args: Any, kwargs: Any) -> Any:
        """What a function makes of arguments, if it is one that a file may call."""
        if type(args) is not tuple or type(kwargs) is not dict:
            raise refused("its pickle calls a function without arguments")
        self._spend(args)
        if self._is_added(function):
            return function(*args, **kwargs)
        make = MAKERS.get(id(function))
        if make is None or kwargs:
            raise refused(f"its pickle calls {getattr(function, '__name__', type(function).__name__)!r:.40}")
        return make(*args)

    def _instance(self, cls: Any, args: Any, kwargs: Any) -> Any:
        if self._is_added(cls) and isinstance(cls, type) and type(args) is tuple and type(kwargs) is dict:
            return cls.__new__(cls, *args, **kwargs)
        return self._called(cls, args, kwargs)

    def _is_added(self, thing: Any) -> bool:
        return any(thing is known for known in self._added.values())

    def _spend(self, args: tuple[Any, ...]) -> None:
        """See Note [Pickles that run nothing]."""
        self._budget -= sum(len(arg) for arg in args if isinstance(arg, (str, bytes, list, tuple, dict)))
        if self._budget < 0:
            raise refused("it uses a few bytes again and again to fill memory")

    def _build(self, _: Any) -> None:
        target, state = self._take(2)
        if isinstance(target, Shell):
            built = target.built(state)
            for key in target.keys:
                self._memo[key] = built
            self._stack.append(built)
            return
        self._stack.append(target)
        if self._is_added(type(target)):
            _set_state(target, state)
        elif type(target) is OrderedDict:  # a state dict says so which version of a module it is of
            vars(target).update(plain_state(state))
        else:
            raise refused(f"it gives a state to a {type(target).__name__}")

    def _persistent_id(self, _: Any) -> None:
        (key,) = self._take(1)
        self._stack.append(self._persistent(key))

    def _nothing(self, _: Any) -> None:
        """PROTO and FRAME say nothing that is needed here."""


def _set_state(target: Any, state: Any) -> None:
    """Gives a state to an object whose class the user trusts, as Python's own unpickler does."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    own, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if own:
        target.__dict__.update(own)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def unsupported(name: str) -> pickle.UnpicklingError:
    """The error of a file that names something that is no part of a checkpoint."""
    if name.startswith("torch.") and (name.endswith("Storage") or name.count(".") == 1):
        return unknown_kind(name)
    return pickle.UnpicklingError(
        f"Weights only load failed: Unsupported global: GLOBAL {name:.200} was not an allowed global by default. It is "
        "neither a tensor nor a plain container, and loading it could run code. If you trust it, allow it with "
        f"retrograd.serialization.add_safe_globals([{name.rpartition('.')[2]:.100}]); if you trust the author of the "
        "file with your machine, load it with weights_only=False."
    )


_STEPS: Final[dict[str, Callable[[Machine, Any], None]]] = {
    "MARK": Machine._mark,
    "POP": Machine._pop,
    "POP_MARK": Machine._pop_mark,
    "DUP": Machine._duplicate,
    "GET": Machine._get,
    "BINGET": Machine._get,
    "LONG_BINGET": Machine._get,
    "PUT": Machine._put,
    "BINPUT": Machine._put,
    "LONG_BINPUT": Machine._put,
    "MEMOIZE": Machine._memoize,
    "TUPLE": Machine._tuple,
    "LIST": Machine._list,
    "DICT": Machine._dict,
    "FROZENSET": Machine._frozenset,
    "APPEND": Machine._append,
    "APPENDS": Machine._appends,
    "ADDITEMS": Machine._add_items,
    "SETITEM": Machine._set_item,
    "SETITEMS": Machine._set_items,
    "GLOBAL": Machine._global,
    "STACK_GLOBAL": Machine._stack_global,
    "REDUCE": Machine._reduce,
    "NEWOBJ": Machine._new,
    "NEWOBJ_EX": Machine._new_ex,
    "BUILD": Machine._build,
    "BINPERSID": Machine._persistent_id,
    "PROTO": Machine._nothing,
    "FRAME": Machine._nothing,
}
