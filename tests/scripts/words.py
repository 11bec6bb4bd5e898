"""A language model of words with an LSTM: batches of a long text, truncated backward, perplexity."""

import math

import torch
import torch.nn as nn
from common import set_weights


class Dictionary:
    def __init__(self):
        self.word2idx, self.idx2word = {}, []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.0, tie_weights=False):
        super().__init__()
        self.ntoken, self.nhid, self.nlayers = ntoken, nhid, nlayers
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return nn.functional.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (
            weight.new_zeros(self.nlayers, bsz, self.nhid),
            weight.new_zeros(self.nlayers, bsz, self.nhid),
        )


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i, bptt=5):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


if __name__ == "__main__":
    corpus = Dictionary()
    text = (
        "the cat sat on the mat and the dog sat on the log <eos> a cat and a dog saw the mat <eos> ".split()
        * 6
    )
    data = batchify(torch.tensor([corpus.add_word(w) for w in text], dtype=torch.int64), 4)
    model = RNNModel(len(corpus), 12, 12, 2, tie_weights=True)
    set_weights(model, 0.4)
    criterion = nn.NLLLoss()
    lr = 2.0
    for epoch in range(1, 5):
        model.train()
        total_loss, hidden = 0.0, model.init_hidden(4)
        for batch, i in enumerate(range(0, data.size(0) - 1, 5)):
            inputs, targets = get_batch(data, i)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(inputs, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            total_loss += loss.item() * len(inputs)
        mean = total_loss / (len(data) - 1)
        print(f"| epoch {epoch} | loss {mean:5.2f} | ppl {math.exp(mean):8.2f}")
    model.eval()
    with torch.no_grad():
        hidden, word, said = model.init_hidden(1), torch.zeros(1, 1, dtype=torch.long), []
        for _ in range(8):
            output, hidden = model(word, hidden)
            word.fill_(output.squeeze().argmax())
            said.append(corpus.idx2word[word.item()])
    print(" ".join(said))
