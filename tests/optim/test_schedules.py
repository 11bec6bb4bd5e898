"""Every schedule with every option, beside PyTorch's: rates, momenta, state dicts, warnings, errors."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import retrograd as rg

CASES = {
    "LambdaLR": [
        lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
        lambda s, o: s.LambdaLR(o, [lambda e: 1 / (1 + e)] * 2),
    ],
    "MultiplicativeLR": [lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 + 0.01 * e)],
    "StepLR": [lambda s, o: s.StepLR(o, 3), lambda s, o: s.StepLR(o, 1, gamma=0.5)],
    "MultiStepLR": [
        lambda s, o: s.MultiStepLR(o, [2, 2, 7]),
        lambda s, o: s.MultiStepLR(o, [1, 9], gamma=0.3),
    ],
    "ConstantLR": [lambda s, o: s.ConstantLR(o), lambda s, o: s.ConstantLR(o, 0.5, 3)],
    "LinearLR": [lambda s, o: s.LinearLR(o), lambda s, o: s.LinearLR(o, 0.2, 0.8, 7)],
    "ExponentialLR": [lambda s, o: s.ExponentialLR(o, 0.9)],
    "PolynomialLR": [lambda s, o: s.PolynomialLR(o), lambda s, o: s.PolynomialLR(o, 8, 2.5)],
    "CosineAnnealingLR": [
        lambda s, o: s.CosineAnnealingLR(o, 5),
        lambda s, o: s.CosineAnnealingLR(o, 4, 0.01),
    ],
    "CosineAnnealingWarmRestarts": [
        lambda s, o: s.CosineAnnealingWarmRestarts(o, 3),
        lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
    ],
    "CyclicLR": [
        lambda s, o: s.CyclicLR(o, 0.1, 0.5, 3),
        lambda s, o: s.CyclicLR(o, [0.1, 0.2], [0.5, 0.6], 3, 2, mode="triangular2", cycle_momentum=False),
        lambda s, o: s.CyclicLR(
            o, 0.1, 0.5, 3, mode="exp_range", gamma=0.9, base_momentum=0.5, max_momentum=0.7
        ),
        lambda s, o: s.CyclicLR(o, 0.1, 0.5, 3, scale_fn=lambda x: 1 / x, scale_mode="cycle"),
    ],
    "OneCycleLR": [
        lambda s, o: s.OneCycleLR(o, 0.5, 25),
        lambda s, o: s.OneCycleLR(o, [0.5, 0.4], epochs=5, steps_per_epoch=5, anneal_strategy="linear"),
        lambda s, o: s.OneCycleLR(
            o, 0.5, 30, three_phase=True, pct_start=0.4, div_factor=10, final_div_factor=100
        ),
        lambda s, o: s.OneCycleLR(o, 0.5, 25, cycle_momentum=False),
    ],
    "SequentialLR": [
        lambda s, o: s.SequentialLR(o, [s.ConstantLR(o), s.ExponentialLR(o, 0.9)], [4]),
        lambda s, o: s.SequentialLR(o, [s.LinearLR(o), s.CosineAnnealingLR(o, 6), s.StepLR(o, 2)], [4, 9]),
        lambda s, o: s.SequentialLR(o, [s.LinearLR(o), s.CosineAnnealingWarmRestarts(o, 4)], [3]),
    ],
    "ChainedScheduler": [
        lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)]),
        lambda s, o: s.ChainedScheduler([s.CosineAnnealingLR(o, 5), s.LinearLR(o)], optimizer=o),
    ],
}
OPTIMIZERS = {"SGD": {"momentum": 0.9}, "Adam": {}}
ALL = [(name, i) for name, makers in CASES.items() for i in range(len(makers))]


def optimizer(lib, kind="SGD", groups=2, as_tensor=False):
    rate = (lambda r: lib.tensor(r, dtype=lib.float64)) if as_tensor else (lambda r: r)
    params = [{"params": [lib.ones(1, requires_grad=True)], "lr": rate(0.1 * (i + 1))} for i in range(groups)]
    return getattr(lib.optim, kind)(params, lr=rate(0.1), **OPTIMIZERS[kind])


def options(o):
    """What schedules set, and leave, in the groups."""
    kept = [{k: v for k, v in g.items() if "lr" in k or "ment" in k or k == "betas"} for g in o.param_groups]
    return [{k: float(v) if "lr" in k else v for k, v in g.items()} for g in kept]


def close(a, b):
    """Whether two nested things are the same, up to rounding."""
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            close(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            close(x, y)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-14)
    else:
        assert a == b


def run(lib, name, i, kind="SGD", steps=20, as_tensor=False):
    o = optimizer(lib, kind, as_tensor=as_tensor)
    scheduler = CASES[name][i](lib.optim.lr_scheduler, o)
    seen = [options(o), [float(r) for r in scheduler.get_last_lr()]]
    for _ in range(steps):
        o.step()
        scheduler.step()
        seen += [options(o), [float(r) for r in scheduler.get_last_lr()]]
    return seen, scheduler


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize(("name", "i"), ALL)
def test_twenty_epochs(torch, name, i, kind):
    (ours, scheduler), (theirs, other) = run(rg, name, i, kind), run(torch, name, i, kind)
    close(ours, theirs)
    mine, yours = scheduler.state_dict(), other.state_dict()
    assert set(mine) == set(yours)
    close({key: mine[key] for key in sorted(mine)}, {key: yours[key] for key in sorted(yours)})


@pytest.mark.parametrize(("name", "i"), ALL)
def test_rates_that_are_tensors(torch, name, i):
    if name == "OneCycleLR":
        pytest.skip("rates that the optimiser has are not used")
    close(run(rg, name, i, as_tensor=True)[0], run(torch, name, i, as_tensor=True)[0])


@pytest.mark.parametrize("way", ["rg-torch", "torch-rg", "rg-rg"])
@pytest.mark.parametrize(("name", "i"), ALL)
def test_state_dicts_go_from_one_library_to_the_other(torch, name, i, way):
    first, second = ({"rg": rg, "torch": torch}[n] for n in way.split("-"))
    _, scheduler = run(first, name, i, steps=7)
    o = optimizer(second)
    other = CASES[name][i](second.optim.lr_scheduler, o)
    for group, saved in zip(o.param_groups, scheduler.optimizer.param_groups, strict=True):
        group.update({key: value for key, value in saved.items() if key != "params"})
    other.load_state_dict(scheduler.state_dict())
    for _ in range(8):
        for each in (scheduler, other):
            each.optimizer.step()
            each.step()
        close(options(scheduler.optimizer), options(o))


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("SequentialLR", "ChainedScheduler")])
def test_going_on_at_an_epoch(torch, name):
    def go(lib):
        makers = {
            "LambdaLR": (lambda e: 0.9**e,), "MultiplicativeLR": (lambda e: 0.9,), "StepLR": (2,),
            "MultiStepLR": ([2, 5],),
            "ExponentialLR": (0.9,), "CosineAnnealingLR": (5,), "CosineAnnealingWarmRestarts": (3,),
            "CyclicLR": (0.1, 0.5, 3), "OneCycleLR": (0.5, 25),
        }  # fmt: skip
        o = optimizer(lib)
        first = getattr(lib.optim.lr_scheduler, name)(o, *makers.get(name, ()))
        for _ in range(3):
            o.step()
            first.step()
        more = getattr(lib.optim.lr_scheduler, name)(o, *makers.get(name, ()), last_epoch=3)
        seen = [options(o)]
        for _ in range(6):
            o.step()
            more.step()
            seen.append(options(o))
        return seen

    close(go(rg), go(torch))


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize(
    ("name", "i"), [(n, i) for n, i in ALL if n not in ("SequentialLR", "ChainedScheduler")]
)
def test_rates_of_a_given_epoch(torch, name, i):
    def go(lib):
        o = optimizer(lib)
        scheduler = CASES[name][i](lib.optim.lr_scheduler, o)
        seen = []
        for epoch in (1, 4, 2, 9):
            o.step()
            scheduler.step(epoch)
            seen.append(options(o))
        return seen

    close(go(rg), go(torch))


def test_epochs_with_a_fraction(torch):
    def go(lib):
        o = optimizer(lib)
        scheduler = lib.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2)
        seen = []
        for epoch in (0.5, 1.75, 2.5, 6.25, 13.5):
            scheduler.step(epoch)
            seen.append((options(o), scheduler.last_epoch))
        return seen

    close(go(rg), go(torch))


@pytest.mark.parametrize(("start", "again"), [(2, 2), (3, 1), (2, 3)])
@pytest.mark.parametrize("last_epoch", range(12))
def test_warm_restarts_that_go_on_after_several_falls(torch, start, again, last_epoch):
    def go(lib):
        o = optimizer(lib)
        for group in o.param_groups:
            group["initial_lr"] = 0.5
        s = lib.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, start, again, 0.01, last_epoch)
        seen = [(s.T_cur, s.T_i, options(o))]
        for _ in range(4):
            o.step()
            s.step()
            seen.append((s.T_cur, s.T_i, options(o)))
        return seen

    close(go(rg), go(torch))


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 4])
@pytest.mark.parametrize("last_epoch", [-1, 0, 4])
def test_annealing_that_begins_late_takes_all_its_steps(torch, strategy, epochs, last_epoch):
    def go(lib):
        o = optimizer(lib)
        for group in o.param_groups:
            group["initial_lr"] = 0.5
        s = lib.optim.swa_utils.SWALR(o, 0.05, epochs, strategy, last_epoch)
        seen = [options(o)]
        for _ in range(6):
            o.step()
            s.step()
            seen.append(options(o))
        return seen

    close(go(rg), go(torch))


# ---- plateaus -----------------------------------------------------------------------------------------------------

METRICS = [
    1.0,
    0.9,
    0.9,
    0.8999,
    0.95,
    1.0,
    0.7,
    0.71,
    0.72,
    0.73,
    0.74,
    0.6,
    0.61,
    0.62,
    0.63,
    0.63,
    0.63,
    0.63,
]


@pytest.mark.parametrize(
    "options_",
    [
        {}, {"patience": 1}, {"patience": 1, "factor": 0.5, "cooldown": 2}, {"patience": 0, "mode": "max"},
        {"patience": 1, "threshold": 0.05, "threshold_mode": "abs"}, {"patience": 0, "min_lr": 0.02},
        {"patience": 0, "min_lr": [0.05, 0.001]}, {"patience": 1, "eps": 0.05},
        {"patience": 1, "mode": "max", "threshold_mode": "abs"},
    ],
    ids=str,
)  # fmt: skip
def test_plateaus(torch, options_):
    def go(lib):
        o = optimizer(lib)
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(o, **options_)
        seen = []
        for metric in METRICS:
            o.step()
            scheduler.step(lib.tensor(metric))
            seen.append((options(o), scheduler.get_last_lr(), scheduler.in_cooldown))
        return seen, scheduler.state_dict()

    close(go(rg), go(torch))


# ---- averages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 3, 10])
def test_the_rate_of_averages(torch, strategy, epochs):
    def go(lib):
        o = optimizer(lib)
        scheduler = lib.optim.swa_utils.SWALR(o, [0.5, 0.05], epochs, strategy)
        seen = [options(o)]
        for _ in range(12):
            o.step()
            scheduler.step()
            seen.append(options(o))
        return seen

    close(go(rg), go(torch))


def test_functions_that_average(torch):
    def go(lib):
        swa = lib.optim.swa_utils
        a, b = lib.tensor([1.0, 2.0]), lib.tensor([3.0, 6.0])
        found = [
            swa.get_ema_avg_fn(0.9)(a, b, 3).tolist(),
            swa.get_swa_avg_fn()(a, b, lib.tensor(3)).tolist(),
        ]
        for make in (swa.get_ema_multi_avg_fn(0.9), swa.get_swa_multi_avg_fn()):
            averages = [a.clone(), b.clone()]
            make(averages, [b, a], 3)
            found += [t.tolist() for t in averages]
        return found

    np.testing.assert_allclose(go(rg), go(torch), rtol=1e-6)


# ---- what is refused, and what is said ----------------------------------------------------------------------------

WRONG = [
    lambda s, o: s.StepLR(3, 3),
    lambda s, o: s.StepLR(o(), 3, last_epoch=3),
    lambda s, o: s.LambdaLR(o(), [lambda e: 1]),
    lambda s, o: s.LinearLR(o(), 2.0),
    lambda s, o: s.LinearLR(o(), 0.5, 2.0),
    lambda s, o: s.ConstantLR(o(), 2.0),
    lambda s, o: s.CosineAnnealingWarmRestarts(o(), 0),
    lambda s, o: s.CosineAnnealingWarmRestarts(o(), 3, 0),
    lambda s, o: s.CosineAnnealingWarmRestarts(o(), 3).step(-1),
    lambda s, o: s.CyclicLR(o(), 0.1, 0.5, mode="x"),
    lambda s, o: s.CyclicLR(o(), [0.1], 0.5),
    lambda s, o: s.OneCycleLR(o(), 0.5),
    lambda s, o: s.OneCycleLR(o(), 0.5, -1),
    lambda s, o: s.OneCycleLR(o(), 0.5, epochs=-1, steps_per_epoch=1),
    lambda s, o: s.OneCycleLR(o(), 0.5, epochs=1, steps_per_epoch=-1),
    lambda s, o: s.OneCycleLR(o(), 0.5, 10, pct_start=2),
    lambda s, o: s.OneCycleLR(o(), 0.5, 10, anneal_strategy="x"),
    lambda s, o: [s.OneCycleLR(o(), 0.5, 2)._update_lr(3)],
    lambda s, o: s.ReduceLROnPlateau(o(), factor=1.0),
    lambda s, o: s.ReduceLROnPlateau(o(), mode="x"),
    lambda s, o: s.ReduceLROnPlateau(o(), threshold_mode="x"),
    lambda s, o: s.ReduceLROnPlateau(o(), min_lr=[1]),
    lambda s, o: s.ReduceLROnPlateau(3),
    lambda s, o: s.SequentialLR(o(), [], []),
    lambda s, o: s.SequentialLR(o(), [s.StepLR(o(), 3)], []),
    lambda s, o, p=None: s.SequentialLR(p := o(), [s.StepLR(p, 3), s.StepLR(p, 3)], []),
    lambda s, o, p=None: s.SequentialLR(p := o(), [s.StepLR(p, 3), s.ReduceLROnPlateau(p)], [1]),
    lambda s, o: s.ChainedScheduler([]),
    lambda s, o: s.ChainedScheduler([s.StepLR(o(), 3), s.StepLR(o(), 3)]),
    lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o())]),
    lambda s, o: s.LRScheduler(o()),
]


@pytest.mark.parametrize("i", range(len(WRONG)))
def test_wrong_options_are_refused_in_pytorchs_words(torch, i):
    found = []
    for lib in (rg, torch):
        with pytest.raises(Exception) as caught:
            WRONG[i](lib.optim.lr_scheduler, lambda: optimizer(lib))
        found.append((type(caught.value), str(caught.value).strip("\"'")[:60]))
    (kind, text), (expected, words) = found
    assert kind is expected
    assert text.startswith(words) or not words


def warned(f):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f()
    return [(w.category, str(w.message)[:60]) for w in caught]


def test_warnings(torch):
    def before(lib):
        lib.optim.lr_scheduler.StepLR(optimizer(lib), 3).step()

    def given(lib):
        o = optimizer(lib)
        s = lib.optim.lr_scheduler.StepLR(o, 3)
        o.step()
        s.step(2)

    def asked(lib):
        lib.optim.lr_scheduler.StepLR(optimizer(lib), 3).get_lr()

    def fine(lib):
        o = optimizer(lib)
        s = lib.optim.lr_scheduler.SequentialLR(
            o, [lib.optim.lr_scheduler.ConstantLR(o), lib.optim.lr_scheduler.StepLR(o, 2)], [2]
        )
        for _ in range(4):
            o.step()
            s.step()

    for program in (before, given, asked, fine):
        ours, theirs = warned(lambda: program(rg)), warned(lambda: program(torch))
        assert ours == theirs, program.__name__
    assert warned(lambda: fine(rg)) == []


def test_a_schedule_does_not_stand_in_the_way_of_copies():
    o = optimizer(rg)
    scheduler = rg.optim.lr_scheduler.StepLR(o, 2)
    o.step()
    scheduler.step()
    for again in (copy.deepcopy(scheduler), pickle.loads(pickle.dumps(scheduler))):
        again.optimizer.step()
        again.step()
        assert again.last_epoch == 2
    assert scheduler.last_epoch == 1


def test_schedules_at_once_can_be_one_of_a_sequence():
    """PyTorch raises an error when it is their turn."""
    o = optimizer(rg, groups=1)
    schedule = rg.optim.lr_scheduler
    both = schedule.ChainedScheduler([schedule.ExponentialLR(o, 0.5), schedule.StepLR(o, 2, 0.5)])
    scheduler = schedule.SequentialLR(o, [schedule.ConstantLR(o, 0.5, 9), both], [2])
    rates = []
    for _ in range(6):
        rates += scheduler.get_last_lr()
        o.step()
        scheduler.step()
    np.testing.assert_allclose(rates, [0.05, 0.05, 0.1, 0.05, 0.0125, 0.00625])


def test_a_sequence_in_a_sequence():
    """PyTorch warns of a call that nobody made, and is an epoch ahead."""
    o, s = optimizer(rg, groups=1), rg.optim.lr_scheduler
    inner = s.SequentialLR(o, [s.ConstantLR(o, 0.5, 9), s.StepLR(o, 2)], [2])
    scheduler = s.SequentialLR(o, [inner, s.StepLR(o, 2)], [5])
    rates = []
    for _ in range(8):
        rates += scheduler.get_last_lr()
        o.step()
        scheduler.step()
    np.testing.assert_allclose(rates, [0.05, 0.05, 0.1, 0.1, 0.01, 0.1, 0.1, 0.01])


def averaged(lib, options, use_buffers):
    make = lib.nn.Sequential
    model = make(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3))
    for i, p in enumerate(model.parameters()):
        p.data = lib.arange(float(p.numel())).reshape(p.shape) / (i + 2)
    swa = lib.optim.swa_utils
    average = swa.AveragedModel(model, use_buffers=use_buffers, **options(swa))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    batches = [lib.arange(8.0).reshape(4, 2).sin() * (i + 1) for i in range(4)]
    for batch in batches:
        optimizer.zero_grad()
        (model(batch) ** 2).mean().backward()
        optimizer.step()
        average.update_parameters(model)
    before = {name: value.tolist() for name, value in average.state_dict().items()}
    swa.update_bn([(batch, "target") for batch in batches], average)
    after = {name: value.tolist() for name, value in average.state_dict().items()}
    average.eval()
    return before, after, average(batches[0]).tolist(), average.module[1].momentum, repr(average)


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        lambda swa: {},
        lambda swa: {"avg_fn": swa.get_ema_avg_fn(0.9)},
        lambda swa: {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
    ],
)
def test_averages_of_a_model(torch, options, use_buffers):
    mine, hers = averaged(rg, options, use_buffers), averaged(torch, options, use_buffers)
    for ours, theirs in zip(mine[:2], hers[:2], strict=True):
        assert list(ours) == list(theirs)
        for name, value in ours.items():
            np.testing.assert_allclose(value, theirs[name], rtol=1e-5, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(mine[2], hers[2], rtol=1e-4, atol=1e-5)
    assert mine[3:] == hers[3:]


def test_an_average_has_one_formula(torch):
    for lib in (rg, torch):
        with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
            lib.optim.swa_utils.AveragedModel(
                lib.nn.Linear(1, 1), avg_fn=lambda a, b, c: a, multi_avg_fn=lambda a, b, c: None
            )
