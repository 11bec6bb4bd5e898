"""What programs see of schedules, loaders, files and distributions from inside."""

from __future__ import annotations

import importlib
import io
import types
from typing import Any

from .harness import attempt, program


def _optimizer(torch: Any) -> Any:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.5)


@program()
def functions_that_schedules_are_made_of(torch: Any) -> Any:
    schedules, found = torch.optim.lr_scheduler, []
    for mode in ("triangular", "triangular2", "exp_range"):
        made = schedules.CyclicLR(_optimizer(torch), 0.1, 0.2, mode=mode, gamma=0.5, cycle_momentum=False)
        plain = mode == "exp_range" or isinstance(made._scale_fn_ref, types.FunctionType)
        found.append((plain, [made.scale_fn(x) for x in (1, 2, 3)], "_scale_fn_ref" in made.state_dict()))
    once = schedules.OneCycleLR(_optimizer(torch), 0.1, 10, cycle_momentum=False)
    return found, once._annealing_cos(1.0, 0.0, 0.5), once._annealing_linear(1.0, 0.0, 0.25)


@program(warns="how-to-adjust-learning-rate")
def a_schedule_that_steps_first(torch: Any) -> Any:
    schedule = torch.optim.lr_scheduler.StepLR(_optimizer(torch), 1)
    schedule.step()
    return schedule.get_last_lr()


@program(warns="The epoch parameter in `scheduler.step..` was not necessary")
def a_schedule_that_gets_an_epoch(torch: Any) -> Any:
    schedules = torch.optim.lr_scheduler
    schedule = schedules.StepLR(_optimizer(torch), 1)
    schedule.optimizer.step()
    schedule.step(2)
    return "epoch parameter" in schedules.EPOCH_DEPRECATION_WARNING


@program()
def what_is_no_parameter(torch: Any) -> Any:
    return [
        attempt("or dicts, but got torch.FloatTensor", torch.optim.SGD, torch.ones(2), lr=0.1),
        attempt("one of the params is int", torch.optim.SGD, [1], lr=0.1),
        attempt("expected torch.Tensor, but got: list", torch.nn.utils.vector_to_parameters, [1], []),
    ]


@program(warns="TypedStorage is deprecated")
def storages_in_files(torch: Any) -> Any:
    x, y = torch.arange(6.0), torch.arange(3)
    saved = [x, x.storage(), x[2:4].storage(), (y.storage(), y.storage()), torch.ones(1).untyped_storage()]
    file = io.BytesIO()
    torch.save(saved, file)
    found = []
    for careful in (True, False):
        file.seek(0)
        read, whole, part, twins, raw = torch.load(file, weights_only=careful)
        read.fill_(7)
        same = whole.data_ptr() == read.data_ptr() == part.data_ptr()
        found.append(
            (same, whole.tolist(), whole.dtype, twins[0]._cdata == twins[1]._cdata, twins[0].tolist())
        )
        found.append(
            (raw.tolist(), isinstance(raw, torch.storage.TypedStorage), isinstance(whole, torch.FloatStorage))
        )
    return found


class _Traced:
    """A file in memory that notes which of its methods are called; it has few."""

    def __init__(self) -> None:
        self.memory, self.calls = io.BytesIO(), set()
        for name in ("read", "readline", "seek", "tell", "write", "flush"):
            setattr(self, name, self._traced(name))

    def _traced(self, name: str) -> Any:
        def call(*args: Any) -> Any:
            self.calls.add(name)
            return getattr(self.memory, name)(*args)

        return call


@program()
def what_a_file_must_be_able_to_do(torch: Any) -> Any:
    file = _Traced()
    torch.save(torch.ones(2), file)
    wrote = file.calls <= {"write", "flush"}
    file.seek(0)
    file.calls.clear()
    read = torch.load(file)
    wrong = attempt("a file-like object with a 'write' attribute", torch.save, 1, 3)
    return wrote, read, file.calls <= {"read", "readline", "seek", "tell"}, wrong


@program()
def exceptions_on_their_way(torch: Any) -> Any:
    class Strange(Exception):
        def __init__(self, first: int, second: int) -> None:
            super().__init__(first)

    found = []
    for error in (IndexError("far"), KeyError("key"), Strange(1, 2)):
        try:
            raise error
        except Exception:
            kept = importlib.import_module(f"{torch.__name__}._utils").ExceptionWrapper(where="in a thread")
        phrase = rf"Caught {type(error).__name__} in a thread.\nOriginal Traceback"
        found.append((attempt(phrase, kept.reraise), kept.exc_type.__name__, kept.where))
    return found


@program()
def whether_a_backward_runs(torch: Any) -> Any:
    tracker = importlib.import_module(f"{torch.__name__}.utils.module_tracker").ModuleTracker()
    seen = []

    class Inner(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.relu()
            seen.append((sorted(tracker.parents), tracker.is_bw))
            y.register_hook(lambda g: seen.append((sorted(tracker.parents), tracker.is_bw)))
            return y.sin()

    with tracker:
        torch.nn.Sequential(Inner(), Inner())(torch.ones(2, requires_grad=True).clone()).sum().backward()
    return seen


@program(warns="renamed to `cumulative_sizes`")
def an_old_name_of_sizes(torch: Any) -> Any:
    data = torch.utils.data
    kinds = [data.DataLoader([1])._dataset_kind == data._DatasetKind.Map]
    return data.ConcatDataset([[1, 2], [3]]).cummulative_sizes, kinds


@program()
def parts_of_distributions(torch: Any) -> Any:
    d = torch.distributions
    p, q = d.Gamma(torch.tensor([1.5, 2.0]), 1.0), d.Gamma(torch.tensor([1.0, 3.0]), 2.0)
    x, a = torch.tensor([[0.2, 0.3, 0.5]]), torch.tensor([[1.0, 2.0, 3.0]])
    return (
        d.kl._kl_expfamily_expfamily(p, q),
        d.dirichlet._Dirichlet_backward(x, a, torch.tensor([[1.0, 0.0, -1.0]])),
        attempt("objects implementing __torch_function__", d.utils.broadcast_all, 1, "a"),
    )
