"""Recurrent networks: names of letters, attention from one sequence to another, a time series by LBFGS."""

import math
import random
import re
import string
import time
import unicodedata

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import set_weights, waves
from torch import optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, RandomSampler, TensorDataset

device = torch.device("cpu")
if torch.cuda.is_available():
    device = torch.device("cuda")
torch.set_default_device(device)
print(f"Using device = {torch.get_default_device()}")
allowed_characters = string.ascii_letters + " .,;'" + "_"
n_letters = len(allowed_characters)


def unicodeToAscii(s):
    return "".join(
        c
        for c in unicodedata.normalize("NFD", s)
        if unicodedata.category(c) != "Mn" and c in allowed_characters
    )


def letterToIndex(letter):
    return allowed_characters.find(letter) if letter in allowed_characters else allowed_characters.find("_")


def lineToTensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][letterToIndex(letter)] = 1
    return tensor


class NamesDataset(Dataset):
    def __init__(self):
        self.data = [
            ("Adam", "en"),
            ("Ślusàrski", "pl"),
            ("Satoshi", "jp"),
            ("Smith", "en"),
            ("Kowalski", "pl"),
            ("Tanaka", "jp"),
        ]
        self.labels_uniq = sorted({l for _, l in self.data})
        self.items = [
            (
                torch.tensor([self.labels_uniq.index(l)], dtype=torch.long),
                lineToTensor(unicodeToAscii(n)),
                l,
                n,
            )
            for n, l in self.data
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        return self.items[idx]


alldata = NamesDataset()
train_set, test_set = torch.utils.data.random_split(
    alldata, [0.5, 0.5], generator=torch.Generator(device=device).manual_seed(2024)
)
print(len(train_set), len(test_set))


class CharRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(CharRNN, self).__init__()
        self.rnn = nn.RNN(input_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, line_tensor):
        rnn_out, hidden = self.rnn(line_tensor)
        output = self.h2o(hidden[0])
        return self.softmax(output)


rnn = CharRNN(n_letters, 16, 3)
set_weights(rnn, 0.3)
print(rnn)
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(rnn.parameters(), lr=0.15)
for epoch in range(3):
    rnn.train()
    rnn.zero_grad()
    current = 0.0
    for i in range(len(alldata)):
        label_tensor, text_tensor, label, text = alldata[i]
        output = rnn.forward(text_tensor)
        loss = criterion(output, label_tensor)
        current += loss
    current.backward()
    nn.utils.clip_grad_norm_(rnn.parameters(), 3)
    optimizer.step()
    optimizer.zero_grad()
    print(epoch, "%.5f" % (current.item() / len(alldata)))
with torch.no_grad():
    top_n, top_i = rnn(alldata[1][1]).topk(1)
    print(alldata.labels_uniq[top_i[0].item()])


# generation with a hand-written cell
class GenRNN(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.hidden_size = h
        self.i2h = nn.Linear(i + h, h)
        self.i2o = nn.Linear(i + h, o)
        self.o2o = nn.Linear(h + o, o)
        self.dropout = nn.Dropout(0.0)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        c = torch.cat((input, hidden), 1)
        hidden = self.i2h(c)
        output = self.i2o(c)
        output = self.o2o(torch.cat((hidden, output), 1))
        return self.softmax(self.dropout(output)), hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


g = GenRNN(n_letters, 8, n_letters)
set_weights(g, 0.2)
for it in range(5):
    inp = lineToTensor("Kasparov")
    tgt = torch.LongTensor([letterToIndex(c) for c in "asparov_"]).unsqueeze_(-1)
    hidden = g.initHidden()
    g.zero_grad()
    loss = torch.Tensor([0])
    for i in range(inp.size(0)):
        output, hidden = g(inp[i], hidden)
        loss += criterion(output, tgt[i])
    loss.backward()
    for p in g.parameters():
        p.data.add_(p.grad.data, alpha=-0.05)
    print("%.5f" % (loss.item() / inp.size(0)))
# seq2seq with Bahdanau attention
SOS, EOS, MAX = 0, 1, 6


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.0):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.Wa = nn.Linear(h, h)
        self.Ua = nn.Linear(h, h)
        self.Va = nn.Linear(h, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, h, o):
        super().__init__()
        self.embedding = nn.Embedding(o, h)
        self.attention = BahdanauAttention(h)
        self.gru = nn.GRU(2 * h, h, batch_first=True)
        self.out = nn.Linear(h, o)

    def forward(self, eo, eh, target_tensor=None):
        batch = eo.size(0)
        di = torch.empty(batch, 1, dtype=torch.long, device=device).fill_(SOS)
        dh = eh
        outs = []
        att = []
        for i in range(MAX):
            emb = self.embedding(di)
            context, w = self.attention(dh.permute(1, 0, 2), eo)
            o, dh = self.gru(torch.cat((emb, context), dim=2), dh)
            o = self.out(o)
            outs.append(o)
            att.append(w)
            if target_tensor is not None:
                di = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = o.topk(1)
                di = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outs, dim=1), dim=-1), dh, torch.cat(att, dim=1)


enc, dec = EncoderRNN(11, 12), AttnDecoderRNN(12, 9)
set_weights(enc, 0.4)
set_weights(dec, 0.4)
inp = torch.tensor(np.arange(24).reshape(4, 6) % 11)
out = torch.tensor(np.arange(24).reshape(4, 6) * 3 % 9)
ds = TensorDataset(inp, out)
dl = DataLoader(ds, sampler=torch.utils.data.SequentialSampler(ds), batch_size=2)
eopt, dopt = optim.Adam(enc.parameters(), lr=0.01), optim.Adam(dec.parameters(), lr=0.01)
for e in range(4):
    total = 0
    for a, b in dl:
        eopt.zero_grad()
        dopt.zero_grad()
        eo, eh = enc(a)
        do, _, _ = dec(eo, eh, b)
        loss = criterion(do.view(-1, do.size(-1)), b.view(-1))
        loss.backward()
        eopt.step()
        dopt.step()
        total += loss.item()
    print("%.4f" % (total / len(dl)))
with torch.no_grad():
    do, _, att = dec(*enc(inp[:1]))
    _, topi = do.topk(1)
    print(topi.squeeze().tolist(), att.shape)


# time sequence prediction: LSTMCell, LBFGS, double
class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 11)
        self.lstm2 = nn.LSTMCell(11, 11)
        self.linear = nn.Linear(11, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 11, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 11, dtype=torch.double)
        h2, c2 = torch.zeros_like(h_t), torch.zeros_like(c_t)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h2, c2 = self.lstm2(h_t, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        for i in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h2, c2 = self.lstm2(h_t, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


d = np.sin(np.arange(20)[None] / 4 + np.arange(4)[:, None]).astype("float64")
seq = Sequence()
seq.double()
set_weights(seq, 0.3)
crit = nn.MSELoss()
opt = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=5)
for i in range(2):

    def closure():
        opt.zero_grad()
        o = seq(torch.from_numpy(d[:3, :-1]))
        l = crit(o, torch.from_numpy(d[:3, 1:]))
        print("loss:", "%.6f" % l.item())
        l.backward()
        return l

    opt.step(closure)
    with torch.no_grad():
        pred = seq(torch.from_numpy(d[3:, :-1]), future=5)
        print("%.5f" % crit(pred[:, :-5], torch.from_numpy(d[3:, 1:])).item(), pred.detach().numpy().shape)
# packed
seqs = [torch.ones(n, 3) * n for n in (4, 2, 3)]
padded = pad_sequence(seqs, batch_first=True, padding_value=-1.0)
packed = pack_padded_sequence(padded, torch.tensor([4, 2, 3]).cpu(), batch_first=True, enforce_sorted=False)
lstm = nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True)
set_weights(lstm, 0.3)
o, (h, c) = lstm(packed)
o, l = pad_packed_sequence(o, batch_first=True)
print("%.5f %.5f" % (o.sum(), h.sum()), l)
