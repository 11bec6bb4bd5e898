"""A variational autoencoder in the usual form."""

import torch
import torch.utils.data
from common import set_weights, waves
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(16, 12)
        self.fc21 = nn.Linear(12, 3)
        self.fc22 = nn.Linear(12, 3)
        self.fc3 = nn.Linear(3, 12)
        self.fc4 = nn.Linear(12, 16)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar, eps):
        std = torch.exp(0.5 * logvar)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x, eps):
        mu, logvar = self.encode(x.view(-1, 16))
        return self.decode(self.reparameterize(mu, logvar, eps)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 16), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


if __name__ == "__main__":
    data = (waves(64, 16).abs() > 0.5).float()
    data[::2, :8] = 1.0
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=16)
    model = VAE()
    set_weights(model, 0.4)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(1, 6):
        train_loss = 0
        for n, (batch,) in enumerate(loader):
            optimizer.zero_grad()
            recon, mu, logvar = model(batch, waves(16, 3, seed=epoch * 4 + n))
            loss = loss_function(recon, batch, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
        print("====> Epoch: {} Average loss: {:.3f}".format(epoch, train_loss / len(loader.dataset)))
    with torch.no_grad():
        print(model.decode(torch.zeros(1, 3)).round(decimals=1))
