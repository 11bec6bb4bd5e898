"""autocast on a device that is no CPU, beside PyTorch's for GPUs, which tensors without numbers ask for its dtypes."""

from __future__ import annotations

import inspect
import threading
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from tests.devices.place import HERE

# By what PyTorch does. `f` and `h` are matrices of float32 and float16, `fv` and `hv` vectors, `f3` and `f4` have more
# dimensions, `i` and `ii` are integers.
PROGRAMS = {
    "elementwise functions of the float32 list": """
        h.acos(); h.asin(); h.cosh(); h.erfinv(); h.exp(); h.expm1(); h.log(); h.log10(); h.log2(); h.log1p();
        h.reciprocal(); 1 / h; h.rsqrt(); h.sinh(); h.tan(); h.pow(2); h.pow(h); t.pow(2, h); h**2; 2**h; h**h;
        h**0.5; h.square(); F.softplus(h); t.nn.Softplus()(h); t.special.expm1(h); t.special.erfinv(h)
    """,
    "those that are not on it": """
        h.exp2(); h.sqrt(); h.sin(); h.tanh(); h.atan(); h.sigmoid(); h.erf(); h.lgamma(); F.gelu(h); F.silu(h);
        F.mish(h); F.elu(h); F.logsigmoid(h); h.logaddexp(h); h + f; h * h; h / h; h.lerp(h, 0.5); h.clamp(0, 1);
        t.where(h > 0, h, f); h.hypot(h); h.xlogy(h); h.float_power(2)
    """,
    "sums and norms": """
        h.sum(); h.sum(0); h.prod(); h.prod(0); h.cumsum(0); h.cumprod(0); h.mean(); h.mean(0); h.std(); h.var(0);
        h.nansum(); h.amax(0); h.logsumexp(0); h.logcumsumexp(0); h.norm(); h.norm(2, 0); h.norm(1, dim=0);
        t.linalg.norm(h); t.linalg.norm(h, 1); t.linalg.vector_norm(h); t.linalg.matrix_norm(h);
        t.frobenius_norm(h, [0, 1]); h.dist(h); t.cdist(h, h); F.pdist(h); h.renorm(2, 0, 1.0); F.normalize(h);
        F.cosine_similarity(h, h); F.pairwise_distance(h, h); t.trapezoid(h); h.diff(); h.trace()
    """,
    "a dtype that was asked for": """
        h.sum(0, dtype=t.float16); h.sum(dtype=t.float64); h.prod(0, dtype=t.float16); h.cumsum(0, dtype=t.float16);
        h.cumprod(0, dtype=t.float16); h.softmax(0, dtype=t.float16); t.linalg.vector_norm(h, dtype=t.float16)
    """,
    "normalised": """
        h.softmax(0); h.log_softmax(0); F.softmin(h, 0); F.gumbel_softmax(h); F.layer_norm(h, (2,));
        F.group_norm(h, 1); F.rms_norm(h, (2,)); F.batch_norm(h, fv, fv)
    """,
    "losses": """
        F.mse_loss(h, h); F.l1_loss(h, h); F.smooth_l1_loss(h, h); F.huber_loss(h, h); t.kl_div(h, h);
        F.nll_loss(h, i); F.cross_entropy(h, i); F.binary_cross_entropy(h, h);
        F.binary_cross_entropy_with_logits(h, h); F.poisson_nll_loss(h, h); F.soft_margin_loss(h, h);
        F.multi_margin_loss(h, i); F.multilabel_margin_loss(h, ii); F.multilabel_soft_margin_loss(h, h);
        F.hinge_embedding_loss(h, h); F.margin_ranking_loss(h, h, h); F.triplet_margin_loss(h, h, h);
        F.cosine_embedding_loss(h, h, hv)
    """,
    "products": """
        f @ f; t.matmul(f, f); t.mm(f, f); t.mv(f, fv); f @ fv; fv @ fv; t.addmm(f, f, f); t.addmv(fv, f, fv);
        t.addr(f, fv, fv); t.bmm(f3, f3); t.baddbmm(f3, f3, f3); t.addbmm(f, f3, f3); t.linalg.multi_dot([f, f, f]);
        t.linalg.vecdot(f, f); t.einsum('ij,jk->ik', f, f); t.einsum('ij,ij->ij', f, f); t.outer(fv, fv);
        t.kron(f, f); t.matrix_power(f, 3); F.linear(f, f); F.prelu(f, fv);
        F.scaled_dot_product_attention(f3, f3, f3); F.conv1d(f3, f3.mT); F.conv2d(f4, f4); F.conv_transpose2d(f4, f4);
        t.conv_tbc(f3, f3, fv); F.embedding(i, f); f.double() @ f.double()
    """,
    "the widest": """
        t.dot(fv, fv); t.dot(fv, hv); t.vdot(hv, fv); t.inner(f, f); t.inner(h, f); t.tensordot(f, f, 1);
        t.tensordot(h, h, 1); t.tensordot(h, f, 1); F.bilinear(f, f, f3); F.bilinear(h, f, f3);
        F.bilinear(h, h, f3.half()); t.cross(k, k, 1); t.cross(k, k.half(), 1); t.cat([h, f]); t.stack([h, f]);
        t.cat([h, h]); t.addcmul(h, f, h); t.addcmul(h, h, h); t.addcdiv(h, h, f); t.atan2(h, f); t.atan2(h, h);
        h.index_put((i,), f); h.index_put((i,), h); h.scatter_add(0, ii, f); h.scatter_add(0, ii, h)
    """,
    "images": """
        F.interpolate(h4, scale_factor=2); F.interpolate(h3, size=4, mode='linear');
        F.interpolate(h4, size=4, mode='bilinear'); F.interpolate(h4, size=4, mode='bicubic');
        F.interpolate(h4, size=4, mode='nearest-exact'); F.interpolate(h4, size=4, mode='bilinear', antialias=True);
        F.interpolate(h4, size=4, mode='area'); F.avg_pool2d(h3, 1); F.max_pool2d(h3, 1); F.max_pool3d(h4, 1);
        F.avg_pool3d(h4, 1); F.adaptive_avg_pool2d(h3, 1); F.adaptive_avg_pool3d(h4, 1);
        F.pad(h3, (1, 1), mode='reflect')
    """,
    "written in place": "h.exp_(); h.pow_(2); h.cumsum_(0); t.exp(h, out=h.clone()); t.sum(h, 0, out=hv.clone())",
    "other dtypes": "f.exp(); f.double().exp(); i.exp(); i.sum(); (f + 0j).exp(); (f + 0j).sum()",
}  # fmt: skip
LIST = [(part, p.strip()) for part, text in PROGRAMS.items() for p in text.split(";")]


def names(t: Any, device: str) -> dict[str, Any]:
    f, f3, f4 = (t.ones(shape, device=device) for shape in ((2, 2), (1, 2, 2), (1, 1, 2, 2)))
    found = {"t": t, "F": t.nn.functional, "f": f, "f3": f3, "f4": f4, "fv": t.ones(2, device=device)}
    found.update({name.replace("f", "h"): x.half() for name, x in found.items() if name[0] == "f"})
    ii = t.zeros(2, 2, dtype=t.int64, device=device)
    return found | {"k": t.ones(2, 3, device=device), "ii": ii, "i": t.zeros(2, dtype=t.int64, device=device)}


def dtype_of(t: Any, program: str, device: str) -> str:
    given = names(t, device)
    t.set_autocast_enabled("cuda", True)
    try:
        with t.no_grad():
            return str(eval(program, given).dtype)
    except RuntimeError as error:
        return str(error).partition(".\n")[0][:60]
    finally:
        t.set_autocast_enabled("cuda", False)


@pytest.mark.parametrize(("part", "program"), LIST, ids=[p for _, p in LIST])
def test_functions_compute_in_pytorchs_dtypes(torch: Any, part: str, program: str) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        expected = dtype_of(torch, program, "cuda")
    assert dtype_of(rg, program, HERE) == expected
    assert expected.startswith("torch.")


# Of these PyTorch's tensors without numbers cannot be asked where there is no GPU.
@pytest.mark.parametrize(
    "program",
    ["t.nn.LSTMCell(2, 2)", "t.nn.GRUCell(2, 2)", "t.nn.RNNCell(2, 2)", "t.nn.LSTM(2, 2)", "t.nn.GRU(2, 2)"],
)
def test_recurrent_networks_compute_in_lower_precision(program: str) -> None:
    x = rg.ones(2, 2, device=HERE)
    layer = eval(program, {"t": rg}).to(HERE)
    rg.set_autocast_enabled("cuda", True)
    try:
        found = layer(x)
    finally:
        rg.set_autocast_enabled("cuda", False)
    while isinstance(found, tuple):
        found = found[0]
    assert found.dtype is rg.float16


def test_every_function_of_pytorchs_lists_is_tried(torch: Any) -> None:
    has_kernel, every = torch._C._dispatch_has_kernel_for_dispatch_key, torch._C._dispatch_get_all_op_names()
    listed = {n.partition(".")[0].removeprefix("aten::") for n in every if has_kernel(n, "AutocastCUDA")}
    tried = "".join(PROGRAMS.values()) + inspect.getsource(test_recurrent_networks_compute_in_lower_precision)
    # Kernels that functions which are tried end in, and grid_sampler, which PyTorch does not do without a GPU.
    left = {
        "_convolution", "convolution", "cudnn_convolution", "cudnn_convolution_transpose", "conv3d", "conv_transpose1d",
        "conv_transpose3d", "_scaled_dot_product_flash_attention", "_thnn_fused_gru_cell", "_thnn_fused_lstm_cell",
        "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell", "native_layer_norm", "nll_loss2d", "nuclear_norm",
        "grid_sampler", "chain_matmul",
    }  # fmt: skip
    missing = {n for n in listed if f"{n.removeprefix('linalg_')}(" not in tried and "upsample" not in n}
    assert missing == left


def test_values_and_gradients() -> None:
    x = rg.tensor([1.0, 2.0, 3.0], device=HERE).half().requires_grad_()
    rg.set_autocast_enabled("cuda", True)
    try:
        y = (x.exp() * x).sum()
    finally:
        rg.set_autocast_enabled("cuda", False)
    assert y.dtype is rg.float32
    y.backward()
    a = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(y.item(), (np.exp(a) * a).sum(), rtol=1e-6)  # not rounded to halves on the way
    assert x.grad.dtype is rg.float16
    np.testing.assert_allclose(x.grad.cpu().numpy(), np.exp(a) * (a + 1), rtol=1e-3)


def test_only_the_device_and_the_thread_where_it_is_on() -> None:
    found = []
    here = rg.ones(2, device=HERE).half()
    rg.set_autocast_enabled("cuda", True)
    try:
        thread = threading.Thread(target=lambda: found.append(here.exp().dtype))
        thread.start()
        thread.join()
        assert rg.ones(2).half().exp().dtype is rg.float16
        assert here.exp().dtype is rg.float32
    finally:
        rg.set_autocast_enabled("cuda", False)
    assert found == [rg.float16]
    assert here.exp().dtype is rg.float16
