"""A small GPT: weight tying, AdamW groups, compile, amp, KV cache, sampling."""

import contextlib
import inspect
import math
import os
import pickle
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.set_float32_matmul_precision("high")


class LayerNorm(nn.Module):
    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.attn_dropout = nn.Dropout(config.dropout)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head, self.n_embd, self.dropout = config.n_head, config.n_embd, config.dropout
        self.flash = hasattr(torch.nn.functional, "scaled_dot_product_attention") and config.flash
        if not self.flash:
            print("WARNING: using slow attention")
            self.register_buffer(
                "bias",
                torch.tril(torch.ones(config.block_size, config.block_size)).view(
                    1, 1, config.block_size, config.block_size
                ),
                persistent=False,
            )

    def forward(self, x, past=None):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if past is not None:
            k, v = torch.cat([past[0], k], -2), torch.cat([past[1], v], -2)
        present = torch.stack((k, v))
        if self.flash:
            y = F.scaled_dot_product_attention(
                q,
                k,
                v,
                attn_mask=None,
                dropout_p=self.dropout if self.training else 0,
                is_causal=past is None,
            )
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            S = k.size(-2)
            att = att.masked_fill(self.bias[:, :, S - T : S, :S] == 0, float("-inf"))
            att = self.attn_dropout(F.softmax(att, dim=-1))
            y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y)), present


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = MLP(config)

    def forward(self, x, past=None):
        a, present = self.attn(self.ln_1(x), past)
        x = x + a
        return x + self.mlp(self.ln_2(x)), present


@dataclass
class GPTConfig:
    block_size: int = 32
    vocab_size: int = 28
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 32
    dropout: float = 0.1
    bias: bool = False
    flash: bool = True


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(config.vocab_size, config.n_embd),
                wpe=nn.Embedding(config.block_size, config.n_embd),
                drop=nn.Dropout(config.dropout),
                h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                ln_f=LayerNorm(config.n_embd, bias=config.bias),
            )
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)
        for pn, p in self.named_parameters():
            if pn.endswith("c_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))
        print("number of parameters: %.3fK" % (self.get_num_params() / 1e3,))

    def get_num_params(self, non_embedding=True):
        n = sum(p.numel() for p in self.parameters())
        return n - self.transformer.wpe.weight.numel() if non_embedding else n

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None, past=None):
        b, t = idx.size()
        p0 = 0 if past is None else past[0][0].size(-2)
        assert p0 + t <= self.config.block_size, f"too long {p0 + t}"
        pos = torch.arange(p0, p0 + t, dtype=torch.long, device=idx.device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        presents = []
        for i, block in enumerate(self.transformer.h):
            x, present = block(x, None if past is None else past[i])
            presents.append(present)
        x = self.transformer.ln_f(x)
        if targets is not None:
            logits = self.lm_head(x)
            loss = F.cross_entropy(
                logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1, label_smoothing=0.01
            )
        else:
            logits, loss = self.lm_head(x[:, [-1], :]), None
        return logits, loss, presents

    def configure_optimizers(self, weight_decay, lr, betas, device_type):
        pd = {pn: p for pn, p in self.named_parameters() if p.requires_grad}
        decay = [p for n, p in pd.items() if p.dim() >= 2]
        nodecay = [p for n, p in pd.items() if p.dim() < 2]
        groups = [{"params": decay, "weight_decay": weight_decay}, {"params": nodecay, "weight_decay": 0.0}]
        print(
            f"decayed {len(decay)} with {sum(p.numel() for p in decay):,}, not {len(nodecay)} with {sum(p.numel() for p in nodecay):,}"
        )
        fused = "fused" in inspect.signature(torch.optim.AdamW).parameters
        use_fused = fused and device_type == "cuda"
        extra = dict(fused=True) if use_fused else dict()
        opt = torch.optim.AdamW(groups, lr=lr, betas=betas, **extra)
        print(f"using fused AdamW: {use_fused}")
        return opt

    @torch.no_grad()
    def generate(self, idx, n, temperature=1.0, top_k=None, top_p=None, cache=True):
        past = None
        for _ in range(n):
            cond = idx if idx.size(1) <= self.config.block_size else idx[:, -self.config.block_size :]
            if cache and past is not None:
                cond = idx[:, -1:]
            logits, _, past_ = self(cond, past=past)
            past = past_ if cache else None
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            if top_p is not None:
                sl, si = torch.sort(logits, descending=True)
                cp = torch.cumsum(F.softmax(sl, dim=-1), dim=-1)
                rem = cp > top_p
                rem[..., 1:] = rem[..., :-1].clone()
                rem[..., 0] = 0
                rem = rem.scatter(1, si, rem)
                logits = logits.masked_fill(rem, float("-inf"))
            probs = F.softmax(logits, dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
        return idx


text = "the quick brown fox jumps over the lazy dog and runs away from the angry bear in the wood " * 6
chars = sorted(list(set(text)))
stoi = {ch: i for i, ch in enumerate(chars)}
itos = dict(enumerate(chars))
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)
torch.manual_seed(1337 + 0)
device = "cuda" if torch.cuda.is_available() else "cpu"
device_type = "cuda" if "cuda" in device else "cpu"
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}["bfloat16"]
ctx = nullcontext() if device_type == "cpu" else torch.amp.autocast(device_type=device_type, dtype=ptdtype)
cfg = GPTConfig(vocab_size=len(chars))
model = GPT(cfg).to(device)
scaler = torch.amp.GradScaler("cuda", enabled=False)
opt = model.configure_optimizers(1e-1, 3e-3, (0.9, 0.95), device_type)


def get_batch(split="train", B=8):
    ix = torch.randint(len(data) - cfg.block_size, (B,))
    x = torch.stack([data[i : i + cfg.block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + cfg.block_size] for i in ix])
    return x.to(device), y.to(device)


def get_lr(it, lr=3e-3, warm=3, mx=12, mn=3e-4):
    if it < warm:
        return lr * (it + 1) / (warm + 1)
    if it > mx:
        return mn
    return mn + 0.5 * (1.0 + math.cos(math.pi * (it - warm) / (mx - warm))) * (lr - mn)


@torch.no_grad()
def estimate_loss():
    model.eval()
    losses = torch.zeros(3)
    for k in range(3):
        with ctx:
            _, loss, _ = model(*get_batch())
        losses[k] = loss.item()
    model.train()
    return losses.mean()


X, Y = get_batch()
for it in range(12):
    for g in opt.param_groups:
        g["lr"] = get_lr(it)
    if it % 4 == 0:
        print(f"step {it}: val {estimate_loss():.4f}")
    for micro in range(2):
        with ctx:
            logits, loss, _ = model(X, Y)
            loss = loss / 2
        X, Y = get_batch()
        scaler.scale(loss).backward()
    scaler.unscale_(opt)
    gn = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad(set_to_none=True)
    print(f"iter {it}: loss {loss.item() * 2:.4f}, norm {gn.item():.4f}")
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "ckpt.pt")
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "model_args": asdict(cfg),
            "iter_num": it,
            "best": loss,
        },
        path,
    )
    ck = torch.load(path, map_location=device)
    print(list(ck), ck["model_args"], f"{ck['best']:.4f}")
    m2 = GPT(
        GPTConfig(
            **ck["model_args"],
        )
    )
    sd = ck["model"]
    for k, v in list(sd.items()):
        if k.startswith("_orig_mod."):
            sd[k[len("_orig_mod.") :]] = sd.pop(k)
    print(m2.load_state_dict(sd))
    o2 = m2.configure_optimizers(1e-1, 3e-3, (0.9, 0.95), "cpu")
    o2.load_state_dict(ck["optimizer"])
m2.eval()
m2 = torch.compile(m2, backend="eager") if False else m2
start = torch.tensor([[stoi["t"]]], dtype=torch.long)
torch.manual_seed(7)
for kw in (dict(top_k=5), dict(top_p=0.9, temperature=0.8), dict(cache=False)):
    y = m2.generate(start.repeat(2, 1), 24, **kw)
    for row in y:
        print(repr("".join(itos[i] for i in row.tolist())))
torch.manual_seed(3)
a = m2.generate(start, 20, top_k=3)
torch.manual_seed(3)
b = m2.generate(start, 20, top_k=3, cache=False)
print(torch.equal(a, b))
with torch.autocast("cpu", dtype=torch.bfloat16):
    l, loss, _ = m2(X, Y)
print(l.dtype, loss.dtype, f"{loss.item():.2f}")
