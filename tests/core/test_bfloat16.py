"""bfloat16 beside PyTorch, in every part of the library: the same programs, dtypes exactly, numbers to rounding."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import retrograd as rg

pytest.importorskip("ml_dtypes")


def data(t: Any) -> Any:
    return t.linspace(-2, 2, 12).reshape(3, 4).bfloat16()


def numbers(x: Any) -> Any:
    return x.detach().float().tolist()


def second_order(t: Any) -> Any:
    x = data(t).requires_grad_()
    (g,) = t.autograd.grad((x.tanh() * x).sum(), x, create_graph=True)
    (h,) = t.autograd.grad(g.pow(2).sum(), x)
    assert g.dtype is h.dtype is t.bfloat16
    return numbers(h)


def views_and_writes(t: Any) -> Any:
    x = data(t).requires_grad_()
    z = x * 2
    z[0] = 0
    z[1:].mul_(x[1:, :2].sum())
    z[2].copy_(t.ones(4))
    z.index_put_((t.tensor([1]),), t.ones(4, dtype=t.bfloat16))
    z.sum().backward()
    return numbers(x.grad), numbers(z)


def assignments(t: Any) -> Any:
    x = data(t)
    x[x > 0] = 1.5
    x[0, 1] = t.tensor(3.3)
    x[:, 2] = t.tensor([1, 2, 3])
    x[1] += 1
    return numbers(x)


def batches(t: Any) -> Any:
    x, w = data(t), data(t)[:, :3].clone()
    mapped = t.func.vmap(lambda r: r @ r + t.nn.functional.layer_norm(r, (4,)).sum())(x)
    grads = t.func.vmap(t.func.grad(lambda r, w: (r[:3] @ w).sigmoid().sum()), (0, None))(x, w)
    assert mapped.dtype is grads.dtype is t.bfloat16
    return numbers(mapped), numbers(grads)


def forward_mode(t: Any) -> Any:
    x = data(t)
    out, tangent = t.func.jvp(lambda r: r.tanh() * r.sum(), (x,), (t.ones_like(x),))
    assert out.dtype is tangent.dtype is t.bfloat16
    return numbers(tangent), numbers(t.func.hessian(lambda r: (r**3).sum())(x[0]))


def conversions(t: Any) -> Any:
    x, y = data(t).requires_grad_(), t.ones(3, requires_grad=True)
    (x.float() * 2).sum().backward()
    x.to(t.float64).sum().backward()
    y.bfloat16().mul(2).sum().backward()
    assert x.grad.dtype is t.bfloat16
    assert y.grad.dtype is t.float32
    return numbers(x.grad), numbers(y.grad)


def a_function_of_a_user(t: Any) -> Any:
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, g):
            assert g.dtype is t.bfloat16
            return 2 * ctx.saved_tensors[0] * g

    x = data(t).requires_grad_()
    t.utils.checkpoint.checkpoint(Square.apply, x, use_reentrant=False).sum().backward()
    return numbers(x.grad)


def a_network(t: Any) -> Any:
    layers = (t.nn.Linear(4, 4), t.nn.ReLU(), t.nn.LayerNorm(4), t.nn.Linear(4, 2))
    model = t.nn.Sequential(*layers).bfloat16()
    with t.no_grad():
        for p in model.parameters():
            p.copy_(t.linspace(-1, 1, p.numel()).reshape(p.shape))
    t.nn.functional.cross_entropy(model(data(t)), t.tensor([0, 1, 0])).backward()
    return [numbers(p.grad.reshape(-1)) for p in model.parameters()][-1]


def long_sums(t: Any) -> Any:
    x = t.ones(1000, dtype=t.bfloat16)
    return [float(x.sum()), float(x.cumsum(0)[-1]), float(x.mean()), float(x @ x), float(x.var())]


def facts(t: Any) -> Any:
    x = data(t)
    found = [
        x.nbytes,
        x.element_size(),
        *x.t().stride(),
        x[1:].storage_offset(),
        x.untyped_storage().nbytes(),
    ]
    found += [x.is_floating_point(), x.is_signed(), x.t().is_contiguous(), x[1].data_ptr() - x.data_ptr()]
    return [float(f) for f in found]


def copies(t: Any) -> Any:
    x, file = data(t), io.BytesIO()
    t.save({"x": x, "part": x[1:]}, file)
    file.seek(0)
    loaded = t.load(file)
    loaded["x"][1] = 7
    assert loaded["x"].dtype is copy.deepcopy(x).dtype is pickle.loads(pickle.dumps(x)).dtype is t.bfloat16
    return numbers(loaded["part"]), numbers(copy.deepcopy(x)), numbers(pickle.loads(pickle.dumps(x)))


def as_the_default(t: Any) -> Any:
    t.set_default_dtype(t.bfloat16)
    try:
        made = (
            t.tensor([1.5]),
            t.ones(2) * 2.5,
            t.rand(2),
            t.arange(2) / 3,
            t.linspace(0, 1, 2),
            t.nn.Linear(2, 2).weight,
        )
        assert all(m.dtype is t.bfloat16 for m in made)
        assert repr(made[0]) == "tensor([1.5000])"
        return numbers(made[3])
    finally:
        t.set_default_dtype(t.float32)


def new_data(t: Any) -> Any:
    x = t.nn.Parameter(t.ones(2))
    x.data = x.data.bfloat16()
    (x * 2).sum().backward()
    assert x.grad.dtype is t.bfloat16
    return numbers(x.grad)


PROGRAMS = (
    second_order, views_and_writes, assignments, batches, forward_mode, conversions, a_function_of_a_user, a_network,
    long_sums, facts, copies, as_the_default, new_data,
)  # fmt: skip


@pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore:.torch.jit.script. is deprecated:DeprecationWarning"
)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_pytorch_does_the_same(torch, program):
    found, wanted = program(rg), program(torch)
    together = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for f, w in together:
        np.testing.assert_allclose(f, w, rtol=5e-2, atol=2e-2)


OPTIMIZERS = [
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "ASGD",
    "Rprop",
    "Adafactor",
]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimisers_step(torch, name):
    found = []
    for t in (torch, rg):
        p = t.nn.Parameter(data(t))
        optimizer = getattr(t.optim, name)([p], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (p * p.sin()).sum().backward()
            optimizer.step()
        assert p.dtype is t.bfloat16
        state = {k: str(v.dtype) for k, v in optimizer.state[p].items() if isinstance(v, t.Tensor)}
        found.append((numbers(p), state))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=5e-2, atol=2e-2)
    assert found[1][1] == found[0][1]


@pytest.mark.parametrize(
    "values", ["[1.0, 2.5]", "[]", "3.0", "[1e-8, 1.0]", "[float('nan'), 1]", "[1e30, 2]"]
)
def test_it_prints_as_pytorchs(torch, values):
    assert repr(rg.tensor(eval(values), dtype=rg.bfloat16)) == repr(
        torch.tensor(eval(values), dtype=torch.bfloat16)
    )


def test_what_it_says_of_itself(torch):
    for ask in (
        repr, lambda d: d.itemsize, lambda d: d.is_floating_point, lambda d: d.is_complex, lambda d: d.is_signed,
        lambda d: d.abbr, lambda d: str(d.to_real()), lambda d: str(d.to_complex()),
    ):  # fmt: skip
        assert ask(rg.bfloat16) == ask(torch.bfloat16)
    assert repr(rg.finfo(rg.bfloat16)) == repr(torch.finfo(torch.bfloat16))
    assert copy.deepcopy(rg.bfloat16) is pickle.loads(pickle.dumps(rg.bfloat16)) is rg.bfloat16
    assert rg.bfloat16 == "bfloat16"
    assert rg.bfloat16 != np.dtype("float16")
    assert rg.zeros(1, dtype="bfloat16").type() == "torch.BFloat16Tensor"


def test_numpys_arrays_of_it_share_memory():
    import ml_dtypes

    x = data(rg)
    array = x.numpy()
    assert (type(array), array.dtype) == (np.ndarray, ml_dtypes.bfloat16)
    array[0, 0] = 9
    for made in (rg.from_numpy(array), rg.as_tensor(array), rg.tensor(array), rg.asarray(array)):
        assert made.dtype is rg.bfloat16
        assert made[0, 0].item() == x[0, 0].item() == 9
    assert np.shares_memory(rg.from_numpy(array).numpy(), array)
    assert np.asarray(x).dtype == ml_dtypes.bfloat16
    assert rg.zeros(1, dtype=ml_dtypes.bfloat16).dtype is rg.bfloat16


def test_files_go_to_pytorch_and_back(torch, tmp_path):
    file = io.BytesIO()
    rg.save({"x": data(rg), "turned": data(rg).t(), "part": data(rg)[1:, 2:]}, file)
    file.seek(0)
    theirs = torch.load(file)
    assert [numbers(v) for v in theirs.values()] == [
        numbers(v) for v in (data(rg), data(rg).t(), data(rg)[1:, 2:])
    ]
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        file = io.BytesIO()
        torch.save({"x": data(torch), "p": torch.nn.Parameter(data(torch))}, file, **options)
        file.seek(0)
        ours = rg.load(file)
        assert all(v.dtype is rg.bfloat16 and numbers(v) == numbers(data(rg)) for v in ours.values())
    path = tmp_path / "a.safetensors"
    rg.serialization.save_safetensors({"x": data(rg)}, path)
    assert numbers(rg.serialization.load_safetensors(path)["x"]) == numbers(data(rg))


def test_without_ml_dtypes_it_says_what_to_install():
    program = """
import sys
sys.modules["ml_dtypes"] = None
import retrograd as rg
assert repr(rg.bfloat16) == "torch.bfloat16" and rg.promote_types(rg.bfloat16, rg.float16) is rg.float32
for use in (lambda: rg.zeros(2, dtype=rg.bfloat16), lambda: rg.ones(2).bfloat16(), rg.nn.Linear(2, 2).bfloat16):
    try:
        use()
    except ImportError as error:
        assert "pip install 'retrograd[bfloat16]'" in str(error)
    else:
        raise AssertionError
with rg.autocast("cpu", dtype=rg.float16):
    assert (rg.ones(2, 2) @ rg.ones(2, 2)).dtype is rg.float16
"""
    subprocess.run([sys.executable, "-c", program], check=True)
