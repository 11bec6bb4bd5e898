"""Transformers for translation and masked words; twins, and networks on graphs."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import set_weights, waves
from torch import Tensor
from torch.nn import Transformer, TransformerEncoder, TransformerEncoderLayer
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, dataset


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size: int, dropout: float, maxlen: int = 50):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        pe = torch.zeros((maxlen, emb_size))
        pe[:, 0::2] = torch.sin(pos * den)
        pe[:, 1::2] = torch.cos(pos * den)
        pe = pe.unsqueeze(-2)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", pe)

    def forward(self, t: Tensor):
        return self.dropout(t + self.pos_embedding[: t.size(0), :])


class Seq2SeqTransformer(nn.Module):
    def __init__(self, ne, nd, e, h, vs, vt, ff, p=0.0):
        super().__init__()
        self.transformer = Transformer(
            d_model=e, nhead=h, num_encoder_layers=ne, num_decoder_layers=nd, dim_feedforward=ff, dropout=p
        )
        self.generator = nn.Linear(e, vt)
        self.src = nn.Embedding(vs, e)
        self.tgt = nn.Embedding(vt, e)
        self.pe = PositionalEncoding(e, dropout=p)
        self.e = e

    def forward(self, src, trg, sm, tm, spm, tpm, mpm):
        s = self.pe(self.src(src.long()) * math.sqrt(self.e))
        t = self.pe(self.tgt(trg.long()) * math.sqrt(self.e))
        return self.generator(self.transformer(s, t, sm, tm, None, spm, tpm, mpm))

    def encode(self, src, m):
        return self.transformer.encoder(self.pe(self.src(src)), m)

    def decode(self, tgt, memory, m):
        return self.transformer.decoder(self.pe(self.tgt(tgt)), memory, m)


def generate_square_subsequent_mask(sz):
    mask = (torch.triu(torch.ones((sz, sz))) == 1).transpose(0, 1)
    return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, float(0.0))


PAD = 1
src = pad_sequence([torch.tensor([2, 5, 6, 3]), torch.tensor([2, 7, 3])], padding_value=PAD)
tgt = pad_sequence([torch.tensor([2, 4, 3]), torch.tensor([2, 8, 9, 5, 3])], padding_value=PAD)
m = Seq2SeqTransformer(2, 2, 16, 4, 12, 12, 32)
for p in m.parameters():
    if p.dim() > 1:
        nn.init.xavier_uniform_(p)
set_weights(m, 0.2)
loss_fn = nn.CrossEntropyLoss(ignore_index=PAD)
opt = torch.optim.Adam(m.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
for i in range(4):
    ti = tgt[:-1, :]
    tm = generate_square_subsequent_mask(ti.shape[0])
    sm = torch.zeros((src.shape[0], src.shape[0])).type(torch.bool)
    logits = m(
        src,
        ti,
        sm,
        tm,
        (src == PAD).transpose(0, 1),
        (ti == PAD).transpose(0, 1),
        (src == PAD).transpose(0, 1),
    )
    opt.zero_grad()
    loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt[1:, :].reshape(-1))
    loss.backward()
    opt.step()
    print("%.5f" % loss.item())
m.eval()


def greedy(model, src, n):
    memory = model.encode(src, torch.zeros(src.shape[0], src.shape[0]).bool())
    ys = torch.ones(1, 1).fill_(2).type(torch.long)
    for i in range(n - 1):
        out = model.decode(
            ys, memory, generate_square_subsequent_mask(ys.size(0)).type(torch.bool) & False
        ).transpose(0, 1)
        _, w = torch.max(model.generator(out[:, -1]), dim=1)
        ys = torch.cat([ys, torch.ones(1, 1).type_as(src.data).fill_(w.item())], dim=0)
        if w.item() == 3:
            break
    return ys


print(greedy(m, src[:, :1], 5).flatten().tolist())
print(
    "%.4f" % Transformer.generate_square_subsequent_mask(3)[0, 0].item(),
    nn.Transformer.generate_square_subsequent_mask(3),
)


class BertLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(20, 16, padding_idx=0)
        self.seg = nn.Embedding(3, 16)
        self.pos = nn.Embedding(8, 16)
        self.norm = nn.LayerNorm(16, eps=1e-12)
        self.enc = TransformerEncoder(
            TransformerEncoderLayer(
                16, 4, 32, 0.0, activation=F.gelu, batch_first=True, layer_norm_eps=1e-12
            ),
            num_layers=2,
        )
        self.pool = nn.Linear(16, 16)
        self.mlm = nn.Linear(16, 20, bias=False)
        self.mlm.weight = self.tok.weight
        self.bias = nn.Parameter(torch.zeros(20))
        self.nsp = nn.Linear(16, 2)

    def forward(self, ids, segs, attn=None):
        x = self.norm(
            self.tok(ids) + self.seg(segs) + self.pos(torch.arange(ids.size(1), device=ids.device)[None])
        )
        x = self.enc(x, src_key_padding_mask=ids.eq(0))
        return self.mlm(x) + self.bias, self.nsp(torch.tanh(self.pool(x[:, 0])))


b = BertLM()
set_weights(b, 0.2)
ids = torch.tensor([[1, 4, 5, 6, 2, 0], [1, 9, 3, 7, 8, 2]])
segs = (ids > 5).long()
labels = ids.clone()
labels[ids < 5] = -100
opt = torch.optim.AdamW(b.parameters(), lr=1e-3)
warm = torch.optim.lr_scheduler.LambdaLR(opt, lr_lambda=lambda s: min((s + 1) / 3, max(0.0, (10 - s) / 7)))
for i in range(5):
    lm, ns = b(ids, segs)
    loss = F.cross_entropy(lm.transpose(1, 2), labels) + F.cross_entropy(ns, torch.tensor([0, 1]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    warm.step()
    print("%.5f %.6f" % (loss.item(), warm.get_last_lr()[0]))
b.eval()
with torch.no_grad():
    lm, ns = b(ids, segs)
    print("%.3f %.2f" % (lm[1].sum().item(), ns.sum().item()), lm.shape)
mha = nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True, kdim=6, vdim=4)
set_weights(mha, 0.3)
o, w = mha(
    waves(2, 24).view(2, 3, 8),
    waves(2, 30).view(2, 5, 6),
    waves(2, 20).view(2, 5, 4),
    average_attn_weights=False,
)
print("%.5f" % o.sum().item(), w.shape, mha)


# siamese
class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(inplace=True), nn.AdaptiveMaxPool2d(3))
        self.fc = nn.Sequential(nn.Linear(72, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
        self.sig = nn.Sigmoid()
        self.fc.apply(self.init_weights)

    def init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.xavier_uniform_(m.weight)
            m.bias.data.fill_(0.01)

    def once(self, x):
        o = self.net(x)
        return o.view(o.size()[0], -1)

    def forward(self, a, b):
        return self.sig(self.fc(torch.cat((self.once(a), self.once(b)), 1)))


s = Siamese()
set_weights(s, 0.3)
opt = torch.optim.Adadelta(s.parameters(), lr=1.0)
sch = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.7)
a, c = waves(6, 100).view(6, 1, 10, 10), waves(6, 100, 5).view(6, 1, 10, 10)
t = torch.tensor([0.0, 1, 0, 1, 1, 0])
for i in range(4):
    opt.zero_grad()
    l = nn.BCELoss()(s(a, c).squeeze(), t)
    l.backward()
    opt.step()
    sch.step()
    pred = torch.where(s(a, c).squeeze() > 0.5, 1, 0)
    print("%.5f" % l.item(), pred.eq(t.view_as(pred)).sum().item())
trip = nn.TripletMarginLoss(margin=1.0, p=2, eps=1e-7)
print(
    "%.5f" % trip(waves(3, 4), waves(3, 4, 1), waves(3, 4, 2)).item(),
    "%.5f" % F.cosine_embedding_loss(waves(3, 4), waves(3, 4, 1), torch.tensor([1, -1, 1])).item(),
)


# GCN, GAT dense
class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.kernel = nn.Parameter(torch.Tensor(i, o))
        nn.init.xavier_normal_(self.kernel)
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, x, adj):
        return torch.mm(adj, torch.mm(x, self.kernel)) + self.bias


class GAT(nn.Module):
    def __init__(self, i, o, h):
        super().__init__()
        self.h, self.o = h, o
        self.W = nn.Parameter(torch.empty(size=(i, o * h)))
        self.a = nn.Parameter(torch.empty(size=(h, 2 * o, 1)))
        self.act = nn.LeakyReLU(0.2)

    def forward(self, x, adj):
        n = x.shape[0]
        h = torch.mm(x, self.W).view(n, self.h, self.o).permute(1, 0, 2)
        s = torch.matmul(h, self.a[:, : self.o, :]) + torch.matmul(h, self.a[:, self.o :, :]).mT
        e = self.act(s)
        e = torch.where(adj > 0, e, -9e16 * torch.ones_like(e))
        return torch.matmul(F.softmax(e, dim=-1), h).mean(dim=0)


adj = ((waves(6, 6) > 0).float() + torch.eye(6)).clamp(max=1)
d = adj.sum(1).pow(-0.5)
adjn = d[:, None] * adj * d
g1, g2, gat = GraphConv(5, 8), GraphConv(8, 3), GAT(5, 3, 2)
for q in (g1, g2, gat):
    set_weights(q, 0.3)
opt = torch.optim.Adam([*g1.parameters(), *g2.parameters(), *gat.parameters()], lr=0.01, weight_decay=5e-4)
y = torch.tensor([0, 1, 2, 0, 1, 2])
for i in range(4):
    out = F.log_softmax(g2(F.relu(g1(waves(6, 5), adjn)), adjn) + gat(waves(6, 5), adj), dim=1)
    l = F.nll_loss(out[:4], y[:4])
    opt.zero_grad()
    l.backward()
    opt.step()
    print("%.5f" % l.item(), (out.argmax(dim=1) == y).float().mean().item() >= 0)
