"""Every optimiser with every option: what `test_every_optimizer.py` runs on both libraries."""

from __future__ import annotations

import itertools


def chosen(**values):
    """Every combination of the values, as keyword arguments."""
    return [
        dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values())
    ]


BOTH = (False, True)
CASES = {
    "SGD": [
        {"lr": 0.05, **options}
        for options in chosen(momentum=(0, 0.9), dampening=(0, 0.3), weight_decay=(0, 0.05), nesterov=BOTH)
        if not options["nesterov"] or (options["momentum"] and not options["dampening"])
    ],
    "Adam": chosen(lr=(0.02,), betas=((0.9, 0.999), (0.5, 0.8)), weight_decay=(0, 0.05), amsgrad=BOTH),
    "AdamW": chosen(lr=(0.02,), weight_decay=(0, 0.05), amsgrad=BOTH),
    "RMSprop": chosen(lr=(0.02,), alpha=(0.9, 0.99), weight_decay=(0, 0.05), momentum=(0, 0.8), centered=BOTH),
    "Adagrad": chosen(lr=(0.1,), lr_decay=(0, 0.1), weight_decay=(0, 0.05), initial_accumulator_value=(0, 0.5)),
    "Adadelta": chosen(lr=(1.0, 0.3), rho=(0.9, 0.5), eps=(1e-6, 1e-2), weight_decay=(0, 0.05)),
    "Adamax": chosen(lr=(0.02,), betas=((0.9, 0.999), (0.5, 0.8)), eps=(1e-8, 1e-2), weight_decay=(0, 0.05)),
    "NAdam": chosen(
        lr=(0.02,), betas=((0.9, 0.999), (0.5, 0.8)), weight_decay=(0, 0.05), momentum_decay=(4e-3, 0.1),
        decoupled_weight_decay=BOTH,
    ),
    "RAdam": chosen(
        lr=(0.02,), betas=((0.9, 0.999), (0.5, 0.8)), weight_decay=(0, 0.05), decoupled_weight_decay=BOTH
    ),
    "ASGD": chosen(lr=(0.02,), lambd=(1e-4, 0.1), alpha=(0.75, 0.5), t0=(1e6, 5), weight_decay=(0, 0.05)),
    "Rprop": chosen(lr=(0.02,), etas=((0.5, 1.2), (0.3, 1.5)), step_sizes=((1e-6, 50), (0.01, 0.05))),
    "Adafactor": chosen(
        lr=(0.02, 0.5), beta2_decay=(-0.8, -0.5), eps=((None, 1e-3), (1e-3, 0.1)), d=(1.0, 2.0), weight_decay=(0, 0.05)
    ),
}  # fmt: skip
# Options that ask for an implementation, or for the other direction.
KINDS = [{"maximize": True}, {"foreach": True}]
DIFFERENTIABLE = [name for name in CASES if name != "Adafactor"]
COMPLEX = [name for name in CASES if name != "Adafactor"]
