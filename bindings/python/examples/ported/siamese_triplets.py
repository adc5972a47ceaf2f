"""Embeddings by triplets, with spectral normalisation and a mean of the weights."""
import numpy as np
import weft as torch
import weft.nn as nn
from first_values import set_first_values
from weft.nn.utils import spectral_norm
from weft.optim.lr_scheduler import CosineAnnealingWarmRestarts
from weft.optim.swa_utils import AveragedModel


class EmbeddingNet(nn.Module):
    def __init__(self):
        super(EmbeddingNet, self).__init__()
        self.convnet = nn.Sequential(nn.Conv1d(1, 8, 5), nn.PReLU(), nn.MaxPool1d(2, stride=2),
                                     nn.Conv1d(8, 8, 3), nn.PReLU(), nn.AdaptiveAvgPool1d(4))
        self.fc = nn.Linear(8 * 4, 4)

    def forward(self, x):
        output = self.convnet(x)
        return nn.functional.normalize(self.fc(output.view(output.size()[0], -1)), p=2, dim=1)


def signal(kind, random):
    """Waves of one of four frequencies."""
    time = np.arange(24)
    wave = np.sin((kind + 1) * 0.3 * time + 6 * random.rand()) + 0.1 * random.standard_normal(24)
    return wave[None].astype(np.float32)


def triplets(count, random, size=16):
    for _ in range(count):
        kinds = random.randint(0, 4, size)
        others = (kinds + random.randint(1, 4, size)) % 4
        yield [torch.from_numpy(np.stack([signal(kind, random) for kind in column]))
               for column in (kinds, kinds, others)]


def main(steps=50):
    random = np.random.RandomState(0)
    model = set_first_values(EmbeddingNet(), 1)
    spectral_norm(model.fc)
    for part, length in (("u", 4), ("v", 32)):
        value = random.standard_normal(length)
        getattr(model.fc, "weight_" + part).copy_(
            torch.from_numpy((value / np.linalg.norm(value)).astype(np.float32)))
    averaged = AveragedModel(model)
    criterion = nn.TripletMarginLoss(margin=0.5)
    optimizer = torch.optim.Adamax(model.parameters(), lr=5e-3)
    scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=10, T_mult=2, eta_min=1e-4)
    losses = []
    for anchor, positive, negative in triplets(steps, random):
        optimizer.zero_grad()
        loss = criterion(model(anchor), model(positive), model(negative))
        loss.backward()
        optimizer.step()
        scheduler.step()
        averaged.update_parameters(model)
        losses.append(loss.item())
    print("loss {:.3f} -> {:.3f}".format(losses[0], losses[-1]))
    return losses


if __name__ == "__main__":
    main()
