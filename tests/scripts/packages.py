"""What packages written for PyTorch do beside its public functions: names of its files, members that a class looks up."""

import contextlib

import torch
from torch import nn
from torch.distributions import kl, transforms
from torch.nn.utils.stateless import _reparametrize_module
from torch.optim.optimizer import ParamsT
from torch.quasirandom import SobolEngine
from torch.utils._contextlib import (
    _DecoratorContextManager,
    _NoParamDecoratorContextManager,
    context_decorator,
)
from torch.utils.data import DataLoader, IterableDataset, default_collate
from torch.utils.data._utils.collate import collate, default_collate_fn_map
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)


class Watched(nn.Module):
    """A module that is asked for each of its members, and counts."""

    def __getattr__(self, name):
        found = super().__getattr__(name)
        self.__dict__.setdefault("asked", []).append(name)
        return found


class Linear(Watched, nn.Linear):
    """As packages derive from a layer."""


layer = Linear(2, 1)
layer(torch.ones(1, 2))
print("asked", sorted({*layer.asked} & {"weight", "bias"}), "weight" in vars(layer))
layer.__dict__["asked"].clear()
plain = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
plain.__class__ = type("Asked", (Watched, nn.Sequential), {})
plain.scale = nn.Parameter(torch.ones(2))
print("changed", plain.scale.shape, plain.__dict__["asked"], sorted(plain.state_dict())[:3])
del plain.scale
print(hasattr(plain, "scale"), "0" in vars(plain), repr(plain).splitlines()[0])

with _reparametrize_module(layer, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}):
    print("replaced", layer(torch.ones(1, 2)).item())

inverse = transforms.ExpTransform().inv
print(isinstance(inverse, transforms._InverseTransform), type(inverse).__name__)
normal = torch.distributions.Normal
print((normal, normal) in kl._KL_REGISTRY)


class Step(torch.optim.Optimizer):
    def __init__(self, params: ParamsT | None = None) -> None:
        super().__init__(params, {})


print(len(Step([torch.ones(1)]).param_groups))


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def join(batch, *, collate_fn_map=None):
    return Pair(*(collate([getattr(x, n) for x in batch], collate_fn_map=collate_fn_map) for n in ("a", "b")))


default_collate_fn_map[Pair] = join
both = default_collate([(Pair(1, [2.0, "x"]), 3), (Pair(4, [5.0, "y"]), 6)])
print(both[0].a, both[0].b, both[1])
del default_collate_fn_map[Pair]


class Count(IterableDataset):
    def __iter__(self):
        return iter(range(5))


class Fake:
    """A loader of a package's own, which PyTorch's iterators go through."""

    dataset, num_workers, batch_size, drop_last, timeout = Count(), 0, 2, False, 0
    pin_memory, pin_memory_device, generator, prefetch_factor = False, "", None, None
    multiprocessing_context, worker_init_fn, persistent_workers, in_order = None, None, False, True
    _dataset_kind, _auto_collation, _IterableDataset_len_called = _DatasetKind.Iterable, True, None
    collate_fn, _index_sampler = staticmethod(default_collate), [[0, 0]] * 9

    def _get_shared_seed(self):
        return None


print([batch.tolist() for batch in _SingleProcessDataLoaderIter(Fake())])
loader = DataLoader(Count(), batch_size=2)
kinds = (_BaseDataLoaderIter, _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter)
print([isinstance(iter(loader), kind) for kind in kinds], loader._dataset_kind, loader._auto_collation)
print(DataLoader(range(3), batch_size=None)._dataset_kind == _DatasetKind.Map)

engine = SobolEngine(3)
print(
    engine, engine.draw(4), engine.num_generated, engine.fast_forward(3).draw(1), engine.reset().draw_base2(2)
)
out = torch.empty(1)
print(engine.draw(2, dtype=torch.float64), engine.draw(2, out=out) is out, out.shape)
for wrong in (lambda: SobolEngine(0), lambda: engine.draw_base2(4), lambda: SobolEngine(2).draw(-1)):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__)
mixed = SobolEngine(2, scramble=True, seed=3)
first = mixed.draw(64)
print(mixed, first.unique(dim=0).shape, torch.equal(mixed.reset().draw(64), first))
print(
    (SobolEngine(2, scramble=True, seed=3).draw(64) == first).all(), first.mean(0).sub(0.5).abs().max() < 0.05
)


class Weight(nn.Parameter):
    pass


layer.weight = Weight(torch.ones(1, 2))
print(layer.weight, torch.tensor(layer.weight), type(layer.weight) in (type(p) for p in layer.parameters()))
print(torch._tensor_str.PRINT_OPTS.precision, torch._tensor_str.PRINT_OPTS.edgeitems)


class Scaled(_DecoratorContextManager):
    """As packages write a switch of their own: a block, a decorator of functions and of generators."""

    factor = 1

    def __init__(self, by):
        self.by = by

    def clone(self):
        return type(self)(self.by)

    def __enter__(self):
        self.before, Scaled.factor = Scaled.factor, self.by

    def __exit__(self, *error):
        Scaled.factor = self.before


class Loud(_NoParamDecoratorContextManager):
    def __enter__(self):
        print("in")

    def __exit__(self, kind, error, where):
        print("out", kind)


@Scaled(3)
def scaled(x):
    return x * Scaled.factor


@Scaled(2)
def halves():
    got = yield Scaled.factor
    yield got / Scaled.factor


@Loud
def loud():
    return Scaled.factor


steps = halves()
print(scaled(2), next(steps), Scaled.factor, steps.send(5), loud(), Loud()(loud).__name__)
with Scaled(7):
    print(scaled(1), loud())
print(
    context_decorator(lambda: Scaled(6), loud)(),
    context_decorator(torch.no_grad().clone, torch.is_grad_enabled)(),
)
print(context_decorator(contextlib.nullcontext(), loud)())
refused = (lambda: context_decorator(contextlib.nullcontext(), Fake), lambda: context_decorator(Scaled, loud))
for wrong in (*refused, _DecoratorContextManager().__enter__):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__)
print([issubclass(kind, _DecoratorContextManager) for kind in (torch.no_grad, torch.inference_mode)])

mask = torch.arange(3) < 1
print(mask.type(torch.Tensor).dtype, mask.type(dtype="torch.Tensor").dtype)
