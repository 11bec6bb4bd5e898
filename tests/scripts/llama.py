"""A language model of today's form: rotary positions, grouped queries, experts, a cache of keys, LoRA, beam search."""

import copy
import inspect
import json
import math
import os
import sys
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import set_weights, waves
from torch import Tensor


@dataclass
class ModelArgs:
    dim: int = 16
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: Optional[int] = 2
    vocab_size: int = 32
    multiple_of: int = 8
    norm_eps: float = 1e-5
    max_seq_len: int = 16
    dropout: float = 0.0


class RMSNorm(torch.nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()).type_as(x)
        return output * self.weight


def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device)
    freqs = torch.outer(t, freqs).float()
    return torch.polar(torch.ones_like(freqs), freqs)


def reshape_for_broadcast(freqs_cis, x):
    ndim = x.ndim
    assert freqs_cis.shape == (x.shape[1], x.shape[-1])
    return freqs_cis.view(*[d if i == 1 or i == ndim - 1 else 1 for i, d in enumerate(x.shape)])


def apply_rotary_emb(xq, xk, freqs_cis) -> Tuple[Tensor, Tensor]:
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    f = reshape_for_broadcast(freqs_cis, xq_)
    return torch.view_as_real(xq_ * f).flatten(3).type_as(xq), torch.view_as_real(xk_ * f).flatten(3).type_as(
        xk
    )


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def repeat_kv(x, n_rep):
    bs, slen, h, d = x.shape
    return (
        x if n_rep == 1 else x[:, :, :, None, :].expand(bs, slen, h, n_rep, d).reshape(bs, slen, h * n_rep, d)
    )


class Attention(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.n_kv_heads = args.n_heads if args.n_kv_heads is None else args.n_kv_heads
        self.n_rep = args.n_heads // self.n_kv_heads
        self.n_heads = args.n_heads
        self.head_dim = args.dim // args.n_heads
        self.wq = nn.Linear(args.dim, args.n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(args.dim, self.n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(args.n_heads * self.head_dim, args.dim, bias=False)
        self.flash = hasattr(torch.nn.functional, "scaled_dot_product_attention")
        mask = torch.full((1, 1, args.max_seq_len, args.max_seq_len), float("-inf"))
        self.register_buffer("mask", torch.triu(mask, diagonal=1), persistent=False)
        self.register_buffer(
            "cache_k", torch.zeros(2, args.max_seq_len, self.n_kv_heads, self.head_dim), persistent=False
        )
        self.register_buffer("cache_v", torch.zeros_like(self.cache_k), persistent=False)

    def forward(self, x, freqs_cis, start=None):
        b, s, _ = x.shape
        xq, xk, xv = self.wq(x), self.wk(x), self.wv(x)
        xq = xq.view(b, s, self.n_heads, self.head_dim)
        xk = xk.view(b, s, self.n_kv_heads, self.head_dim)
        xv = xv.view(b, s, self.n_kv_heads, self.head_dim)
        xq, xk = apply_rotary_emb(xq, xk, freqs_cis)
        if start is not None:
            self.cache_k[:b, start : start + s] = xk
            self.cache_v[:b, start : start + s] = xv
            xk, xv = self.cache_k[:b, : start + s], self.cache_v[:b, : start + s]
        if start is None:
            out = F.scaled_dot_product_attention(
                xq.transpose(1, 2), xk.transpose(1, 2), xv.transpose(1, 2), is_causal=True, enable_gqa=True
            )
        else:
            keys, vals = repeat_kv(xk, self.n_rep).transpose(1, 2), repeat_kv(xv, self.n_rep).transpose(1, 2)
            scores = torch.matmul(xq.transpose(1, 2), keys.transpose(2, 3)) / math.sqrt(self.head_dim)
            scores = scores + self.mask[:, :, start : start + s, : start + s]
            out = torch.matmul(F.softmax(scores.float(), dim=-1).type_as(xq), vals)
        return self.wo(out.transpose(1, 2).contiguous().view(b, s, -1))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim, multiple_of):
        super().__init__()
        hidden_dim = multiple_of * ((int(2 * hidden_dim / 3) + multiple_of - 1) // multiple_of)
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class MoE(nn.Module):
    def __init__(self, dim, experts=3, top=2):
        super().__init__()
        self.experts = nn.ModuleList([FeedForward(dim, 4 * dim, 8) for _ in range(experts)])
        self.gate = nn.Linear(dim, experts, bias=False)
        self.top = top

    def forward(self, x):
        flat = x.view(-1, x.shape[-1])
        weights, selected = torch.topk(self.gate(flat), self.top)
        weights = F.softmax(weights, dim=1, dtype=torch.float).to(x.dtype)
        results = torch.zeros_like(flat)
        for i, e in enumerate(self.experts):
            idx, nth = torch.where(selected == i)
            results[idx] += weights[idx, nth, None] * e(flat[idx])
        return results.view_as(x)


class Block(nn.Module):
    def __init__(self, layer_id, args):
        super().__init__()
        self.attention = Attention(args)
        self.feed_forward = (
            FeedForward(args.dim, 4 * args.dim, args.multiple_of) if layer_id else MoE(args.dim)
        )
        self.attention_norm = RMSNorm(args.dim, args.norm_eps)
        self.ffn_norm = nn.RMSNorm(args.dim, eps=args.norm_eps)

    def forward(self, x, f, start=None):
        h = x + self.attention(self.attention_norm(x), f, start)
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    last_loss: Optional[torch.Tensor]

    def __init__(self, params: ModelArgs):
        super().__init__()
        self.params = params
        self.tok_embeddings = nn.Embedding(params.vocab_size, params.dim)
        self.layers = torch.nn.ModuleList()
        for i in range(params.n_layers):
            self.layers.append(Block(i, params))
        self.norm = RMSNorm(params.dim, params.norm_eps)
        self.output = nn.Linear(params.dim, params.vocab_size, bias=False)
        self.tok_embeddings.weight = self.output.weight
        self.register_buffer(
            "freqs", precompute_freqs_cis(params.dim // params.n_heads, params.max_seq_len), persistent=False
        )
        self.apply(self._init_weights)
        for pn, p in self.named_parameters():
            if pn.endswith(("w3.weight", "wo.weight")):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * params.n_layers))

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(
        self, tokens: torch.Tensor, targets: Optional[torch.Tensor] = None, start=None
    ) -> torch.Tensor:
        b, s = tokens.shape
        h = self.tok_embeddings(tokens)
        f = self.freqs[:s] if start is None else self.freqs[start : start + s]
        for layer in self.layers:
            h = layer(h, f, start)
        h = self.norm(h)
        if targets is not None:
            logits = self.output(h)
            self.last_loss = F.cross_entropy(
                logits.view(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-1
            )
        else:
            logits = self.output(h[:, [-1], :])
            self.last_loss = None
        return logits

    def configure_optimizers(self, weight_decay, learning_rate, betas, device_type):
        param_dict = {pn: p for pn, p in self.named_parameters() if p.requires_grad}
        decay = [p for p in param_dict.values() if p.dim() >= 2]
        nodecay = [p for p in param_dict.values() if p.dim() < 2]
        print(f"num decayed: {len(decay)}, with {sum(p.numel() for p in decay):,} parameters")
        fused_available = "fused" in inspect.signature(torch.optim.AdamW).parameters
        use_fused = fused_available and device_type == "cuda"
        extra = dict(fused=True) if use_fused else dict()
        print(f"using fused AdamW: {use_fused}")
        return torch.optim.AdamW(
            [{"params": decay, "weight_decay": weight_decay}, {"params": nodecay, "weight_decay": 0.0}],
            lr=learning_rate,
            betas=betas,
            **extra,
        )

    @torch.inference_mode()
    def generate(self, idx, max_new_tokens, temperature=1.0, top_k=None):
        for _ in range(max_new_tokens):
            logits = self(idx)[:, -1, :]
            if temperature == 0.0:
                _, idx_next = torch.topk(logits, k=1, dim=-1)
            else:
                logits = logits / temperature
                if top_k is not None:
                    v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                    logits[logits < v[:, [-1]]] = -float("Inf")
                idx_next = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            idx = torch.cat((idx, idx_next), dim=1)
        return idx


torch.manual_seed(1337 + 0)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
dtype = "bfloat16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "float32"
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
ctx = nullcontext() if True else torch.amp.autocast(device_type="cuda", dtype=ptdtype)
args = ModelArgs()
model = Transformer(args).to("cpu")
set_weights(model, 0.15)
scaler = torch.cuda.amp.GradScaler(enabled=(dtype == "float16"))
opt = model.configure_optimizers(1e-1, 1e-2, (0.9, 0.95), "cpu")
model = torch.compile(model)


def get_lr(it):
    if it < 2:
        return 1e-2 * (it + 1) / 2
    ratio = (it - 2) / 8
    return 1e-3 + 0.5 * (1.0 + math.cos(math.pi * ratio)) * 9e-3


toks = (torch.arange(2 * 17) * 7 % 31).view(2, 17)
X, Y = toks[:, :-1].contiguous(), toks[:, 1:].contiguous().clone()
Y[0, 0] = -1
for it in range(8):
    for g in opt.param_groups:
        g["lr"] = get_lr(it)
    for micro in range(2):
        with ctx:
            logits = model(X, Y)
            loss = model.last_loss / 2
        scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad(set_to_none=True)
    print(it, "%.5f %.4f" % (loss.item() * 2, norm.item()))
model.eval()
raw = getattr(model, "_orig_mod", model)
print(raw.generate(X[:1, :4], 6, temperature=0.0).tolist())
with torch.no_grad():
    full = raw(X[:, :6], Y[:, :6])
    pre = raw(X[:, :5], Y[:, :5], start=0)
    step = raw(X[:, 5:6], start=5)
    print(
        torch.allclose(full[:, -1], step[:, -1], atol=1e-5),
        sorted(raw.state_dict())[:3],
        len(raw.state_dict()),
    )


# LoRA
class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r=2, alpha=4):
        super().__init__()
        self.base = base
        self.scaling = alpha / r
        self.lora_A = nn.Parameter(base.weight.new_zeros((r, base.in_features)))
        self.lora_B = nn.Parameter(base.weight.new_zeros((base.out_features, r)))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B)
        self.base.weight.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.transpose(0, 1) @ self.lora_B.transpose(0, 1)) * self.scaling


for p in raw.parameters():
    p.requires_grad_(False)
for name, mod in list(raw.named_modules()):
    if isinstance(mod, nn.Linear) and name.rsplit(".")[-1] in ("wq", "wv"):
        parent = raw.get_submodule(name.rsplit(".", 1)[0])
        setattr(parent, name.rsplit(".", 1)[1], LoRALinear(mod))
lora = {n: p for n, p in raw.named_parameters() if "lora_" in n}
print(list(lora)[:2], len(lora))
for i, p in enumerate(lora.values()):
    if i % 2 == 0:
        p.data.copy_(torch.sin(torch.arange(p.numel()).float()).view_as(p) * 0.3)
opt = torch.optim.AdamW(filter(lambda p: p.requires_grad, raw.parameters()), lr=1e-2)
raw.train()
for i in range(4):
    raw(X, Y)
    opt.zero_grad()
    raw.last_loss.backward()
    opt.step()
    print("%.5f" % raw.last_loss.item())
print(sum(p.numel() for p in raw.parameters() if p.requires_grad))
# real RoPE
pos = torch.arange(5).unsqueeze(1)
inv = 1.0 / (10000 ** (torch.arange(0, 4, 2, dtype=torch.int64).float() / 4))
emb = torch.cat((pos * inv, pos * inv), dim=-1)
q = waves(5, 4)
print("%.5f" % ((q * emb.cos()) + (rotate_half(q) * emb.sin())).sum().item())


# beam search
def beam_search(step, start, k, n):
    beams = [(torch.tensor([start]), 0.0)]
    for _ in range(n):
        cand = []
        for seq, score in beams:
            lp = F.log_softmax(step(seq), -1)
            top, ids = lp.topk(k)
            cand += [(torch.cat([seq, i.view(1)]), score + t.item()) for t, i in zip(top, ids)]
        beams = sorted(cand, key=lambda c: -c[1])[:k]
    return beams


table = waves(8, 8, 4)
print([(s.tolist(), round(v, 4)) for s, v in beam_search(lambda s: table[s[-1]], 0, 2, 3)])
