"""What TransformerEncoder gives for padding: zeros where PyTorch computes without it, beside PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import retrograd as rg

ENDS = [[0, 0, 1, 1], [0, 0, 0, 1]]
MASKS = {
    "at the ends": ENDS,
    "in between": [[0, 1, 0, 1], [0, 0, 0, 1]],
    "none": [[0] * 4] * 2,
    "a whole sequence": [[1] * 4, [0, 0, 1, 1]],
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "gelu": {"activation": "gelu"},
    "norm first": {"norm_first": True},
    "an odd number of heads": {"nhead": 1},
    "no bias": {"bias": False},
    "sequence first": {"batch_first": False},
}


def encoder(library: Any, norm: bool = False, **options: Any) -> Any:
    library.manual_seed(0)
    options = {"nhead": 2, "dim_feedforward": 4, "batch_first": True, "dropout": 0.0, **options}
    last = library.nn.LayerNorm(4) if norm else None
    if norm:
        library.nn.init.constant_(last.bias, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says why it cannot leave padding out
        return library.nn.TransformerEncoder(library.nn.TransformerEncoderLayer(4, **options), 2, last).eval()


def output(library: Any, net: Any, mask: Any, recording: bool = False) -> Any:
    x = library.linspace(-2, 2, 32).sin().reshape(2, 4, 4)
    mask = library.tensor(mask).bool()
    if not net.layers[0].self_attn.batch_first:
        x, mask = x.reshape(4, 2, 4), mask[:2]
    with library.set_grad_enabled(recording), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says that nested tensors are a prototype
        return net(x, src_key_padding_mask=mask).detach().numpy()


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("recording", [False, True])
def test_padding_is_left_out(torch, mask, recording):
    for norm in (False, True):
        found, expected = (output(t, encoder(t, norm), MASKS[mask], recording) for t in (rg, torch))
        if mask == "a whole sequence" and recording:
            found, expected = found[1], expected[1]  # nothing to attend to: NaN, which later layers spread
        assert found == pytest.approx(expected, abs=1e-5)
    if mask == "at the ends":
        assert (output(rg, encoder(rg), ENDS)[0, 2:] == 0).all()


@pytest.mark.parametrize("options", OPTIONS)
def test_layers_of_which_padding_can_be_left_out(torch, options):
    found, expected = (output(t, encoder(t, **OPTIONS[options]), ENDS) for t in (rg, torch))
    assert found == pytest.approx(expected, abs=1e-5)
    assert encoder(rg, **OPTIONS[options]).use_nested_tensor == (options in ("plain", "gelu"))


def test_it_is_left_in_if_so_wished(torch):
    seen = []
    for t in (rg, torch):
        net = encoder(t)
        t.backends.mha.set_fastpath_enabled(False)
        try:
            seen.append((t.backends.mha.get_fastpath_enabled(), output(t, net, ENDS)))
        finally:
            t.backends.mha.set_fastpath_enabled(True)
    assert seen[0][0] is seen[1][0] is False
    assert seen[0][1] == pytest.approx(seen[1][1], abs=1e-5)
    assert (seen[0][1][0, 2:] != 0).any()
