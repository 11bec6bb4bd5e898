"""CTC, CRF, beam search, pointer, seq2seq with packed sequences, scan, graph nets, VQ, contrastive, GAN with penalty, NeRF, style."""

import itertools
import math
import string
from functools import partial, reduce

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, einsum, optim
from torch.nn import Transformer, TransformerEncoder, TransformerEncoderLayer
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(1234)
torch.set_printoptions(precision=4, sci_mode=False)


class CTCNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 8, 3, padding=1)
        self.rnn = nn.LSTM(8, 8, bidirectional=True, batch_first=True, num_layers=2, dropout=0.1)
        self.out = nn.Linear(16, 5)

    def forward(self, x):
        h, _ = self.rnn(F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2))
        return self.out(h).log_softmax(-1)


net = CTCNet()
opt = optim.Adam(net.parameters(), 1e-2)
x = torch.randn(3, 12, 4)
tgt = torch.randint(1, 5, (3, 4))
for i in range(5):
    lp = net(x).transpose(0, 1)
    loss = F.ctc_loss(lp, tgt, torch.full((3,), 12), torch.tensor([4, 3, 2]), blank=0, zero_infinity=True)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"ctc {loss.item():.4f}")
print([[k for k, _ in itertools.groupby(r) if k] for r in net(x).argmax(-1).tolist()])


class CRF(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.trans = nn.Parameter(torch.randn(n, n) * 0.1)
        self.start = nn.Parameter(torch.zeros(n))

    def nll(self, e, tags, mask):
        b = torch.arange(e.size(0))
        score = self.start[tags[:, 0]] + e[b, 0, tags[:, 0]]
        a = self.start + e[:, 0]
        for t in range(1, e.size(1)):
            nxt = torch.logsumexp(a.unsqueeze(2) + self.trans + e[:, t].unsqueeze(1), 1)
            a = torch.where(mask[:, t, None], nxt, a)
            score = score + (self.trans[tags[:, t - 1], tags[:, t]] + e[b, t, tags[:, t]]) * mask[:, t]
        return (a.logsumexp(1) - score).mean()

    @torch.no_grad()
    def decode(self, e):
        a, back = self.start + e[:, 0], []
        for t in range(1, e.size(1)):
            a, i = (a.unsqueeze(2) + self.trans + e[:, t].unsqueeze(1)).max(1)
            back.append(i)
        best = [a.argmax(1)]
        for i in reversed(back):
            best.append(i.gather(1, best[-1][:, None]).squeeze(1))
        return torch.stack(best[::-1], 1)


crf = CRF(3)
em = torch.randn(2, 5, 3, requires_grad=True)
mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)
l = crf.nll(em, torch.randint(3, (2, 5)), mask)
l.backward()
print(l, em.grad[1], crf.decode(em))


class Attn(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.W, self.U, self.v = nn.Linear(h, h), nn.Linear(h, h), nn.Linear(h, 1, bias=False)

    def forward(self, q, k, mask):
        s = self.v(torch.tanh(self.W(q)[:, None] + self.U(k))).squeeze(-1)
        w = s.masked_fill(~mask, -1e9).softmax(-1)
        return torch.bmm(w.unsqueeze(1), k).squeeze(1), w


class Seq2Seq(nn.Module):
    def __init__(self, v=12, h=16):
        super().__init__()
        self.emb = nn.Embedding(v, h, padding_idx=0)
        self.enc, self.dec = nn.GRU(h, h, batch_first=True), nn.GRUCell(2 * h, h)
        self.attn, self.out = Attn(h), nn.Linear(h, v)

    def forward(self, src, lens, tgt, tf=0.5):
        packed = pack_padded_sequence(self.emb(src), lens.cpu(), batch_first=True, enforce_sorted=False)
        o, h = self.enc(packed)
        o, _ = pad_packed_sequence(o, batch_first=True)
        h, mask, outs, tok = h[-1], (src != 0)[:, : o.size(1)], [], tgt[:, 0]
        for t in range(1, tgt.size(1)):
            c, w = self.attn(h, o, mask)
            h = self.dec(torch.cat([self.emb(tok), c], -1), h)
            outs.append(self.out(h))
            tok = tgt[:, t] if torch.rand(1).item() < tf else outs[-1].argmax(-1)
        return torch.stack(outs, 1), w


s2s = Seq2Seq()
src = pad_sequence([torch.randint(1, 12, (n,)) for n in (5, 3, 4)], batch_first=True)
lens = (src != 0).sum(1)
opt = optim.SGD(s2s.parameters(), 0.5, momentum=0.9, nesterov=True)
sch = optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0, factor=0.5)
for i in range(5):
    lg, w = s2s(src, lens, src)
    loss = F.cross_entropy(lg.flatten(0, 1), src[:, 1:].flatten(), ignore_index=0)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(s2s.parameters(), 0.5)
    opt.step()
    sch.step(loss.item())
    print(f"s2s {loss.item():.4f} {opt.param_groups[0]['lr']}")
print(w, w.sum(1))
print(pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])]))


def scan(A, Bx):
    def op(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    T = A.shape[1]
    a, b, d = A, Bx, 1
    while d < T:
        b = torch.cat([b[:, :d], a[:, d:] * b[:, :-d] + b[:, d:]], 1)
        a = torch.cat([a[:, :d], a[:, d:] * a[:, :-d]], 1)
        d *= 2
    return b


class Mamba(nn.Module):
    def __init__(self, d=8, n=4):
        super().__init__()
        self.inp = nn.Linear(d, 2 * d)
        self.conv = nn.Conv1d(d, d, 4, groups=d, padding=3)
        self.xp, self.dt = nn.Linear(d, 2 * n + 1), nn.Linear(1, d)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, n + 1, dtype=torch.float32).repeat(d, 1)))
        self.D, self.out, self.n = nn.Parameter(torch.ones(d)), nn.Linear(d, d), n

    def forward(self, u):
        x, z = self.inp(u).chunk(2, -1)
        x = F.silu(self.conv(x.mT)[..., : u.shape[1]].mT)
        dt, B, C = self.xp(x).split([1, self.n, self.n], -1)
        dt = F.softplus(self.dt(dt))
        A = torch.exp(einsum("bld,dn->bldn", dt, -torch.exp(self.A_log)))
        h = scan(A, einsum("bld,bln,bld->bldn", dt, B, x))
        return self.out((einsum("bldn,bln->bld", h, C) + x * self.D) * F.silu(z))


mb = Mamba()
y = mb(torch.randn(2, 9, 8))
y.pow(2).sum().backward()
print(y[0, -1], mb.A_log.grad.norm(), mb.conv.weight.grad.norm())


def beam(step, k=3, T=4):
    beams = [([0], 0.0)]
    for _ in range(T):
        cand = []
        for seq, sc in beams:
            v, i = step(torch.tensor(seq)).topk(k)
            cand += [(seq + [j.item()], sc + x_.item()) for x_, j in zip(v, i)]
        beams = sorted(cand, key=lambda c: -c[1])[:k]
    return beams


tab = torch.randn(6, 6).log_softmax(-1)
print([(s, round(v, 4)) for s, v in beam(lambda s: tab[s[-1]])])


class GCN(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)

    def forward(self, x, ei):
        row, col = ei
        deg = torch.zeros(x.size(0)).scatter_add_(0, col, torch.ones(col.numel()))
        dis = deg.pow(-0.5)
        dis.masked_fill_(dis == float("inf"), 0)
        return torch.zeros(x.size(0), self.lin.out_features).index_add(
            0, col, self.lin(x)[row] * (dis[row] * dis[col]).view(-1, 1)
        )


class GAT(nn.Module):
    def __init__(self, i, o, h=2):
        super().__init__()
        self.W, self.a, self.h, self.o = (
            nn.Linear(i, h * o, False),
            nn.Parameter(torch.empty(1, h, 2 * o)),
            h,
            o,
        )
        nn.init.xavier_uniform_(self.a)

    def forward(self, x, ei):
        s, d = ei
        hx = self.W(x).view(-1, self.h, self.o)
        e = F.leaky_relu((torch.cat([hx[s], hx[d]], -1) * self.a).sum(-1), 0.2)
        m = torch.full((x.size(0), self.h), -torch.inf).scatter_reduce(0, d[:, None].expand_as(e), e, "amax")
        e = (e - m[d]).exp()
        z = torch.zeros_like(m).scatter_add(0, d[:, None].expand_as(e), e)
        return torch.zeros_like(hx).index_add_(0, d, hx[s] * (e / z[d])[..., None]).flatten(1)


ei = torch.randint(0, 8, (2, 20))
ei = torch.cat([ei, torch.arange(8).repeat(2, 1)], 1)
feat = torch.randn(8, 5)
g1, g2 = GCN(5, 6), GAT(6, 3)
out = g2(F.elu(g1(feat, ei)), ei)
F.nll_loss(out.log_softmax(1), torch.arange(8) % 6).backward()
print(out[0], g1.lin.weight.grad.norm(), g2.a.grad.flatten()[:3])


class VQ(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.e = nn.Embedding(n, d)
        self.e.weight.data.uniform_(-1 / n, 1 / n)

    def forward(self, z):
        flat = z.reshape(-1, z.size(-1))
        dist = flat.pow(2).sum(1, keepdim=True) + self.e.weight.pow(2).sum(1) - 2 * flat @ self.e.weight.t()
        idx = torch.argmin(dist, 1)
        enc = torch.zeros(idx.shape[0], self.e.num_embeddings).scatter_(1, idx[:, None], 1)
        q = (enc @ self.e.weight).view_as(z)
        loss = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(q.detach(), z)
        ap = enc.mean(0)
        return loss, z + (q - z).detach(), torch.exp(-torch.sum(ap * torch.log(ap + 1e-10))), idx


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(True), nn.Conv2d(8, 4, 3, 1, 1))
        self.vq = VQ(16, 4)
        self.dec = nn.Sequential(
            nn.ConvTranspose2d(4, 8, 4, 2, 1),
            nn.ReLU(),
            nn.Conv2d(8, 1, 1),
            nn.Upsample(scale_factor=1, mode="nearest"),
        )

    def forward(self, x):
        loss, q, p, i = self.vq(self.enc(x).permute(0, 2, 3, 1).contiguous())
        return loss, self.dec(q.permute(0, 3, 1, 2)), p


vq = VQVAE()
img = torch.rand(4, 1, 8, 8)
opt = optim.Adam(vq.parameters(), 1e-3, amsgrad=True)
for i in range(3):
    opt.zero_grad()
    ql, rec, p = vq(img)
    (ql + F.mse_loss(rec, img) / img.var()).backward()
    opt.step()
    print(f"vq {ql.item():.5f} {p.item():.3f}")


def nt_xent(a, b, t=0.5):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.T / t
    sim.fill_diagonal_(-float("inf"))
    n = a.size(0)
    return F.cross_entropy(sim, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))


a = torch.randn(4, 6, requires_grad=True)
l = (
    nt_xent(a, a.detach() + 0.1 * torch.randn(4, 6))
    + F.triplet_margin_loss(a, a.flip(0), torch.randn(4, 6))
    + F.cosine_embedding_loss(a, torch.randn(4, 6), torch.tensor([1, -1, 1, -1]))
)
l.backward()
print(l, a.grad.norm())
G = nn.Sequential(nn.Linear(3, 16), nn.BatchNorm1d(16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 2))
D = nn.Sequential(
    nn.utils.spectral_norm(nn.Linear(2, 16)), nn.LeakyReLU(0.2), nn.LayerNorm(16), nn.Linear(16, 1)
)
og, od = (optim.Adam(m.parameters(), 1e-3, betas=(0.5, 0.999)) for m in (G, D))
for it in range(4):
    real = torch.randn(16, 2) * 0.5 + 2
    fake = G(torch.randn(16, 3)).detach()
    eps = torch.rand(16, 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    o = D(mix)
    gp = (
        (
            torch.autograd.grad(
                o, mix, torch.ones_like(o), create_graph=True, retain_graph=True, only_inputs=True
            )[0].norm(2, dim=1)
            - 1
        )
        ** 2
    ).mean()
    ld = D(fake).mean() - D(real).mean() + 10 * gp
    od.zero_grad()
    ld.backward()
    od.step()
    for p in D.parameters():
        p.requires_grad_(False)
    lg = -D(G(torch.randn(16, 3))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    for p in D.parameters():
        p.requires_grad = True
    print(f"gan {ld.item():.4f} {gp.item():.4f} {lg.item():.4f}")
freq = 2.0 ** torch.arange(4) * math.pi


def enc(x):
    return torch.cat([x, *(f(x[..., None] * freq).flatten(-2) for f in (torch.sin, torch.cos))], -1)


rays_o, rays_d = torch.zeros(5, 3), F.normalize(torch.randn(5, 3), dim=-1)
t = torch.linspace(0.5, 2, 8).expand(5, 8).clone()
t += torch.rand_like(t) * 0.1
pts = rays_o[:, None] + rays_d[:, None] * t[..., None]
nerf = nn.Sequential(nn.Linear(27, 32), nn.ReLU(), nn.Linear(32, 4))
raw = nerf(enc(pts))
rgb, sigma = raw[..., :3].sigmoid(), F.relu(raw[..., 3])
delta = torch.cat([t.diff(dim=-1), torch.full((5, 1), 1e10)], -1)
alpha = 1 - torch.exp(-sigma * delta)
w = alpha * torch.cumprod(torch.cat([torch.ones(5, 1), 1 - alpha + 1e-10], -1), -1)[:, :-1]
c = (w[..., None] * rgb).sum(1)
c.square().mean().backward()
print(
    c,
    nerf[0].weight.grad.norm(),
    torch.searchsorted(w.detach().cumsum(-1), torch.rand(5, 2), right=True).clamp(max=7),
)
cnn = (
    nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(4, 6, 3)
    )
    .eval()
    .requires_grad_(False)
)


def gram(f):
    return (f.flatten(2) @ f.flatten(2).mT) / f[0].numel()


style, content = torch.rand(1, 3, 10, 10), torch.rand(1, 3, 10, 10)
inp = content.clone().requires_grad_(True)
opt = optim.LBFGS([inp], max_iter=4)
run = [0]


def closure():
    with torch.no_grad():
        inp.clamp_(0, 1)
    opt.zero_grad()
    l = 1e3 * F.mse_loss(gram(cnn(inp)), gram(cnn(style))) + F.mse_loss(cnn(inp), cnn(content))
    l.backward()
    run[0] += 1
    return l


print(opt.step(closure), run, inp.mean())
enc = TransformerEncoder(
    TransformerEncoderLayer(8, 2, 16, 0.0, activation="gelu", batch_first=True, norm_first=True),
    2,
    enable_nested_tensor=False,
)
pm = torch.tensor([[0, 0, 0, 1], [0, 0, 1, 1]], dtype=torch.bool)
print(
    enc(torch.randn(2, 4, 8), src_key_padding_mask=pm)[0, :2],
    enc.eval()(torch.randn(2, 4, 8), mask=nn.Transformer.generate_square_subsequent_mask(4), is_causal=True)[
        1, 0
    ],
)
tr = Transformer(8, 2, 1, 1, 16, 0.1, batch_first=True)
print(
    tr(torch.randn(2, 3, 8), torch.randn(2, 4, 8), tgt_mask=Transformer.generate_square_subsequent_mask(4))[
        0, 0
    ]
)
