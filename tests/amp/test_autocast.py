"""autocast beside PyTorch: which functions compute in which dtype, and how blocks, threads and graphs go along."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as rg

pytest.importorskip("ml_dtypes")

# Calls by name: `f` is float32, `b` bfloat16, `v` and `w` their first rows, `F` nn.functional.
PROGRAMS = {
    # lower precision
    "mm": "t.mm(f, f)", "method": "f.matmul(f)", "operator": "f @ f", "by a vector": "f @ v", "vectors": "v @ v",
    "bmm": "t.bmm(f[None], f[None])", "addmm": "t.addmm(f, f, f)", "baddbmm": "t.baddbmm(f[None], f[None], f[None])",
    "addbmm": "t.addbmm(f, f[None], f[None])", "linear": "F.linear(f, f, v)", "vecdot": "t.linalg.vecdot(f, f)",
    "attention": "F.scaled_dot_product_attention(f, f, f)", "prelu": "F.prelu(f, v[:1])",
    "conv1d": "F.conv1d(f[None], f[None])", "conv2d": "t.conv2d(f[None, None], f[None, None])",
    "conv3d": "F.conv3d(f[None, None, None], f[None, None, None])",
    "conv_transpose2d": "F.conv_transpose2d(f[None, None], f[None, None])",
    "einsum": "t.einsum('ij,jk->ik', f, f)", "einsum without a sum": "t.einsum('ij,ij->ij', f, f)",
    "multi_dot": "t.linalg.multi_dot([f, f, f])", "matrix_power": "t.matrix_power(f, 3)", "inner": "t.inner(f, f)",
    "tensordot": "t.tensordot(f, f, 1)", "cov": "t.cov(f)",
    "affine_grid": "F.affine_grid(t.ones(1, 2, 3), [1, 1, 2, 2])",
    "Linear": "t.nn.Linear(2, 2)(f)", "LSTM": "t.nn.LSTM(2, 2)(f)[0]", "GRU": "t.nn.GRU(2, 2)(f)[0]",
    "RNN": "t.nn.RNN(2, 2)(f)[0]", "LSTMCell": "t.nn.LSTMCell(2, 2)(f)[0]", "GRUCell": "t.nn.GRUCell(2, 2)(f)",
    "RNNCell": "t.nn.RNNCell(2, 2)(f)",
    "MultiheadAttention": "t.nn.MultiheadAttention(2, 1)(f, f, f)[0]",
    "Transformer": "t.nn.TransformerEncoderLayer(2, 1, 4)(f)",
    "mixed operands": "t.mm(b, f)", "float16 too": "t.mm(f.half(), f.half())", "a bias": "F.linear(f, f, w)",
    # float32
    "prod": "b.prod()", "trace": "b.trace()", "quantile": "b.quantile(0.5)", "cdist": "t.cdist(b, b)",
    "polar": "t.polar(b, b)", "mse_loss": "F.mse_loss(b, f)", "l1_loss": "F.l1_loss(b, b)",
    "cross_entropy": "F.cross_entropy(b, t.tensor([0, 1]))", "nll_loss": "F.nll_loss(b, t.tensor([0, 1]))",
    "binary_cross_entropy": "F.binary_cross_entropy(b, f)", "kl_div": "t.kl_div(b, b)",
    "hinge": "t.hinge_embedding_loss(b, b)", "poisson": "F.poisson_nll_loss(b, b)",
    "triplet": "F.triplet_margin_loss(b, b, b)", "cosine": "F.cosine_embedding_loss(b, b, w)",
    "ranking": "F.margin_ranking_loss(w, w, w)", "huber_loss": "F.huber_loss(b, b)", "fft": "t.fft.fft(b)",
    "irfft": "t.fft.irfft(b)", "inv": "t.linalg.inv(eye)", "svd": "t.linalg.svd(b)[0]", "qr": "t.linalg.qr(b)[0]",
    "eigh": "t.linalg.eigh(b)[0]", "solve": "t.linalg.solve(eye, b)", "cholesky": "t.linalg.cholesky(eye)",
    "matrix_rank": "t.linalg.matrix_rank(b)", "pinverse": "t.pinverse(b)",
    "max_pool3d": "F.max_pool3d(b[None, None], 1)", "avg_pool3d": "F.avg_pool3d(b[None, None], 1)",
    "grid_sample": "F.grid_sample(b[None, None], t.zeros(1, 2, 2, 2), align_corners=True)",
    "reflect": "F.pad(b, (1, 0), 'reflect')", "reflect2d": "t.nn.ReflectionPad2d(1)(b[None])",
    "replicate": "F.pad(b, (1, 0), 'replicate')", "replicate3d": "t.nn.ReplicationPad3d(1)(b[None, None])",
    "lp_pool3d": "F.lp_pool3d(b[None, None], 2, 1)", "local_response_norm": "F.local_response_norm(b[None, None], 1)",
    # the widest of the operands
    "cat": "t.cat([b, f])", "stack": "t.stack([b, f])", "index_copy": "t.index_copy(b, 0, t.tensor([0]), f[:1])",
    # everything else, which takes what it gets
    "exp": "f.exp()", "sum": "b.sum()", "softmax": "b.softmax(0)", "add": "b + f", "mv": "t.mv(f, v)",
    "dot": "t.dot(v, v)",
    "layer_norm": "F.layer_norm(b, (2,))", "norm": "b.norm()", "bilinear": "F.bilinear(f, f, f[None])",
    "float64": "t.mm(f.double(), f.double())", "integers": "t.mm(f.long(), f.long())",
    "complex": "t.mm(f + 0j, f + 0j)",
    "float64 and float32": "t.mm(f.double(), f)", "out=": "t.mm(f, f, out=t.zeros(2, 2))",
    "in place": "f.clone().addmm_(f, f)",
    "index_copy_": "f.clone().index_copy_(0, t.tensor([0]), b[:1])", "det": "t.linalg.det(b)",
    "interpolate": "F.interpolate(b[None])", "reflect3d": "t.nn.ReflectionPad3d(1)(b.expand(1, 2, 2, 2))",
    "circular": "F.pad(b, (1, 0), 'circular')", "lp_pool2d": "F.lp_pool2d(b[None], 2, 1)",
    "max_pool3d with indices": "F.max_pool3d(b[None, None], 1, return_indices=True)[0]",
    "local_response_norm of lines": "F.local_response_norm(b[None], 1)",
}  # fmt: skip


def dtype_of(library: Any, program: str, dtype: str | None) -> str:
    f, b = library.ones(2, 2), library.ones(2, 2, dtype=library.bfloat16)
    names = {"t": library, "F": library.nn.functional, "f": f, "v": f[0], "b": b, "w": b[0]}
    names["eye"] = library.eye(2, dtype=library.bfloat16)
    with library.autocast("cpu", dtype=None if dtype is None else getattr(library, dtype)):
        try:
            return str(eval(program, names).dtype)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            return next(
                c.__name__ for c in (NotImplementedError, RuntimeError, ValueError) if isinstance(error, c)
            )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_compute_in_pytorchs_dtypes(torch, name):
    assert dtype_of(rg, PROGRAMS[name], None) == dtype_of(torch, PROGRAMS[name], None)


@pytest.mark.parametrize("name", ["mm", "linear", "conv2d", "mse_loss", "einsum", "exp"])
def test_float16_is_a_lower_precision_too(torch, name):
    assert dtype_of(rg, PROGRAMS[name], "float16") == dtype_of(torch, PROGRAMS[name], "float16")


def test_values_and_gradients_are_pytorchs(torch):
    found = []
    for t in (torch, rg):
        x, w = t.linspace(-1, 1, 12).reshape(3, 4), t.linspace(-2, 1, 8).reshape(2, 4).requires_grad_()
        with t.autocast("cpu"):
            y = t.nn.functional.linear(x, w).tanh()
            loss = t.nn.functional.mse_loss(y, t.ones(3, 2))
        assert str(y.dtype) == "torch.bfloat16"
        assert str(loss.dtype) == "torch.float32"
        loss.backward()
        assert str(w.grad.dtype) == "torch.float32"
        found.append([loss.item(), *w.grad.reshape(-1).tolist()])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-2, atol=1e-3)


# -- blocks ------------------------------------------------------------------------------------------------------------


def test_blocks_nest_and_end(torch):
    def seen(t: Any) -> list[Any]:
        x, found = t.ones(2, 2), []

        def note() -> None:
            found.append((str((x @ x).dtype), t.is_autocast_enabled("cpu"), str(t.get_autocast_dtype("cpu"))))

        note()
        with t.autocast("cpu"):
            note()
            with t.autocast("cpu", enabled=False):
                note()
            with t.autocast("cpu", dtype=t.float16):
                note()
            note()
        note()
        with pytest.raises(KeyError), t.autocast("cpu"):
            raise KeyError
        note()
        return found

    assert seen(rg) == seen(torch)


def test_a_block_can_be_entered_again_inside_of_itself():
    block = rg.autocast("cpu")
    with block, rg.autocast("cpu", dtype=rg.float16):
        with block:
            assert rg.get_autocast_dtype("cpu") is rg.bfloat16
        assert rg.get_autocast_dtype("cpu") is rg.float16
    assert rg.get_autocast_dtype("cpu") is rg.bfloat16
    assert not rg.is_autocast_enabled("cpu")


def test_it_decorates(torch):
    for t in (torch, rg):

        @t.autocast("cpu")
        def product(x):
            """A product."""
            return x @ x

        assert str(product(t.ones(2, 2)).dtype) == "torch.bfloat16"
        assert product.__doc__ == "A product."
        assert not t.is_autocast_enabled("cpu")


def test_other_threads_have_it_off():
    found = []
    with rg.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((rg.ones(2, 2) @ rg.ones(2, 2)).dtype))
        thread.start()
        thread.join()
        assert (rg.ones(2, 2) @ rg.ones(2, 2)).dtype is rg.bfloat16
    assert found == [rg.float32]


def test_without_a_block(torch):
    def seen(t: Any) -> list[Any]:
        x, found = (
            t.ones(2, 2),
            [t.is_autocast_enabled(), t.is_autocast_cache_enabled(), str(t.get_autocast_dtype("cuda"))],
        )
        try:
            t.set_autocast_enabled("cpu", True)
            found.append(str((x @ x).dtype))
            t.set_autocast_dtype("cpu", t.float16)
            found.append(str((x @ x).dtype))
            found.append(t.is_autocast_enabled("cuda"))
        finally:
            t.set_autocast_enabled("cpu", False)
            t.set_autocast_dtype("cpu", t.bfloat16)
            t.clear_autocast_cache()
        return [*found, str((x @ x).dtype), t.autocast_increment_nesting(), t.autocast_decrement_nesting()]

    assert seen(rg) == seen(torch)


ARGUMENTS = {
    "a dtype that is not lower": {"device_type": "cpu", "dtype": "float64"},
    "no GPU": {"device_type": "cuda"},
    "no such device": {"device_type": "foo"},
    "no string": {"device_type": 3},
    "off": {"device_type": "cpu", "enabled": False, "dtype": "float64"},
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_are_refused_as_pytorch_does(torch, name):
    def outcome(t: Any) -> Any:
        given = {k: getattr(t, v) if k == "dtype" else v for k, v in ARGUMENTS[name].items()}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                made = t.autocast(**given)
            except (RuntimeError, ValueError) as error:
                return isinstance(error, ValueError)
        return [(w.category, str(w.message)) for w in told], made._enabled, str(made.fast_dtype), made.device

    assert outcome(rg) == outcome(torch)


def test_old_names_warn_as_pytorchs_do(torch):
    def told(t: Any, make: Any) -> list[Any]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            make(t)
        return [(w.category, str(w.message)) for w in found]

    for make in (
        lambda t: t.cpu.amp.autocast(), lambda t: t.cuda.amp.autocast(), lambda t: t.cpu.amp.GradScaler(),
        lambda t: t.cuda.amp.GradScaler(), lambda t: t.amp.GradScaler(),
    ):  # fmt: skip
        assert told(rg, make) == told(torch, make)
    with pytest.warns(DeprecationWarning, match="is_autocast_enabled"):
        assert rg.is_autocast_cpu_enabled() is False
    with pytest.warns(DeprecationWarning, match="get_autocast_dtype"):
        assert rg.get_autocast_cpu_dtype() is rg.bfloat16
    assert rg.amp.is_autocast_available("cpu")


# -- graphs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keeps", [True, False])
def test_a_weight_is_converted_once(torch, keeps):
    def shared(t: Any) -> tuple[bool, str]:
        x, w = t.ones(2, 2), t.ones(2, 2, requires_grad=True)
        with t.autocast("cpu", cache_enabled=keeps):
            y = t.mm(x, w) + t.mm(x, w)
        first, second = (f.next_functions[1][0] for f, _ in y.grad_fn.next_functions)
        return first is second, type(first).__name__

    assert shared(rg) == shared(torch) == (keeps, "ToCopyBackward0")


def test_what_is_kept_of_a_weight_ends_with_the_block_and_with_no_grad():
    w = rg.ones(2, 2, requires_grad=True)
    with rg.autocast("cpu"):
        with rg.no_grad():
            w @ w
        assert (w @ w).requires_grad
        with rg.no_grad():
            w.mul_(2)
    with rg.autocast("cpu"):
        assert (w @ rg.ones(2, 2))[0, 0].item() == 4


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_run_again_as_they_ran(torch, reentrant):
    def gradient(t: Any) -> list[Any]:
        seen, w = [], t.ones(2, 2, requires_grad=True)

        def layer(x):
            y = x @ x
            seen.append(str(y.dtype))
            return y.sum()

        with t.autocast("cpu"):
            out = t.utils.checkpoint.checkpoint(layer, w, use_reentrant=reentrant)
        out.backward()
        return [seen, w.grad.tolist(), str(w.grad.dtype)]

    assert gradient(rg) == gradient(torch)


def test_custom_functions_go_along(torch):
    def seen(t: Any) -> list[Any]:
        found: list[Any] = []

        class Square(t.autograd.Function):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu")
            def forward(ctx, x):
                found.append(("forward", t.is_autocast_enabled("cpu"), str(x.dtype), ctx._fwd_used_autocast))
                return x @ x

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx, g):
                found.append(("backward", t.is_autocast_enabled("cpu"), str(g.dtype)))
                return g @ g

        class Wide(Square):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
            def forward(ctx, x):
                found.append(("wide", t.is_autocast_enabled("cpu"), str(x.dtype), ctx._fwd_used_autocast))
                return x @ x

        x = t.ones(2, 2, requires_grad=True)
        with t.autocast("cpu"):
            y, z = Square.apply(x), Wide.apply(x.bfloat16())
        y.sum().backward()
        z.sum().backward()
        return [*found, str(y.dtype), str(z.dtype), x.grad.tolist()]

    assert seen(rg) == seen(torch)
    with pytest.raises(ValueError, match="device_type"):
        rg.amp.custom_fwd(device_type=3)


def test_training_with_it(torch):
    def losses(t: Any) -> list[float]:
        model = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.ReLU(), t.nn.Linear(8, 1))
        with t.no_grad():
            for p in model.parameters():
                p.copy_(t.linspace(-0.5, 0.7, p.numel()).reshape(p.shape))
        x = t.linspace(-1, 1, 32).reshape(8, 4)
        optimizer, scaler, found = t.optim.SGD(model.parameters(), lr=0.1), t.amp.GradScaler("cpu"), []
        for _ in range(5):
            optimizer.zero_grad()
            with t.autocast("cpu"):
                loss = t.nn.functional.mse_loss(model(x), x[:, :1] * 2)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            found.append(loss.item())
        return found

    np.testing.assert_allclose(losses(rg), losses(torch), rtol=3e-2)
