"""Networks for images, written as model libraries write them, and one of them with frozen weights."""

import math
from collections import OrderedDict
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Type, Union

import torch
import torch.nn.functional as F
import torch.utils.checkpoint as cp
from common import set_weights, waves
from torch import Tensor, nn


def conv3x3(i: int, o: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    return nn.Conv2d(
        i, o, kernel_size=3, stride=stride, padding=dilation, groups=groups, bias=False, dilation=dilation
    )


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(
        self,
        inplanes,
        planes,
        stride=1,
        downsample: Optional[nn.Module] = None,
        norm_layer: Optional[Callable[..., nn.Module]] = None,
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, layers, num_classes=10, zero_init_residual=True):
        super().__init__()
        self.inplanes = 8
        self.conv1 = nn.Conv2d(3, 8, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 8, layers[0])
        self.layer2 = self._make_layer(block, 16, layers[1], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(16, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        if zero_init_residual:
            for m in self.modules():
                if isinstance(m, BasicBlock) and m.bn2.weight is not None:
                    nn.init.constant_(m.bn2.weight, 0)

    def _make_layer(self, block, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
            )
        layers = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class _DenseLayer(nn.Module):
    def __init__(self, n, growth, bn, drop, memory_efficient=False):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(n)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(n, bn * growth, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn * growth)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn * growth, growth, 3, padding=1, bias=False)
        self.drop_rate = float(drop)
        self.memory_efficient = memory_efficient

    def bn_function(self, inputs: List[Tensor]) -> Tensor:
        return self.conv1(self.relu1(self.norm1(torch.cat(inputs, 1))))

    def any_requires_grad(self, input: List[Tensor]) -> bool:
        return any(t.requires_grad for t in input)

    @torch.jit.unused
    def call_checkpoint_bottleneck(self, input):
        def closure(*inputs):
            return self.bn_function(inputs)

        return cp.checkpoint(closure, *input, use_reentrant=False)

    def forward(self, input):
        prev = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and self.any_requires_grad(prev):
            if torch.jit.is_scripting():
                raise Exception("no")
            b = self.call_checkpoint_bottleneck(prev)
        else:
            b = self.bn_function(prev)
        new = self.conv2(self.relu2(self.norm2(b)))
        if self.drop_rate > 0:
            new = F.dropout(new, p=self.drop_rate, training=self.training)
        return new


class _DenseBlock(nn.ModuleDict):
    _version = 2

    def __init__(self, layers, n, bn, growth, eff):
        super().__init__()
        for i in range(layers):
            self.add_module("denselayer%d" % (i + 1), _DenseLayer(n + i * growth, growth, bn, 0, eff))

    def forward(self, init):
        feats = [init]
        for name, layer in self.items():
            feats.append(layer(feats))
        return torch.cat(feats, 1)


class SqueezeExcitation(nn.Module):
    def __init__(self, c, s, activation=nn.ReLU, scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(c, s, 1)
        self.fc2 = nn.Conv2d(s, c, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, x):
        return self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(x))))) * x


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    if not training or p == 0.0:
        return input
    size = [input.shape[0]] + [1] * (input.ndim - 1)
    noise = torch.empty(size, dtype=input.dtype, device=input.device).bernoulli_(1.0 - p)
    if 1.0 - p > 0.0:
        noise.div_(1.0 - p)
    return input * noise


class MBConv(nn.Module):
    def __init__(self, i, o, expand=4, k=5, stride=2):
        super().__init__()
        act = partial(nn.SiLU, inplace=True)
        e = i * expand
        norm = partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        self.block = nn.Sequential(
            OrderedDict(
                [
                    ("expand", nn.Sequential(nn.Conv2d(i, e, 1, bias=False), norm(e), act())),
                    (
                        "dw",
                        nn.Sequential(
                            nn.Conv2d(e, e, k, stride, padding=(k - 1) // 2, groups=e, bias=False),
                            norm(e),
                            nn.Hardswish(inplace=True),
                        ),
                    ),
                    ("se", SqueezeExcitation(e, 2, activation=act, scale_activation=nn.Hardsigmoid)),
                    ("proj", nn.Sequential(nn.Conv2d(e, o, 1, bias=False), norm(o))),
                ]
            )
        )

    def forward(self, x):
        return stochastic_depth(self.block(x), 0.0, "row", self.training)


cfgs: Dict[str, List[Union[str, int]]] = {"A": [4, "M", 8, "M"]}


def make_layers(cfg):
    layers: List[nn.Module] = []
    c = 3
    for v in cfg:
        if v == "M":
            layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
        else:
            layers += [nn.Conv2d(c, v, kernel_size=3, padding=1), nn.BatchNorm2d(v), nn.ReLU(inplace=True)]
            c = v
    return nn.Sequential(*layers)


class DoubleConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
            nn.Conv2d(o, o, 3, padding=1, bias=False),
            nn.BatchNorm2d(o),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, i, o, bilinear):
        super().__init__()
        self.up = (
            nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            if bilinear
            else nn.ConvTranspose2d(i, i // 2, kernel_size=2, stride=2)
        )
        self.conv = DoubleConv(i + o if bilinear else i, o)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        dy = x2.size()[2] - x1.size()[2]
        dx = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, bilinear=False):
        super().__init__()
        self.inc = DoubleConv(3, 4)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(4, 8))
        self.up1 = Up(8, 4, bilinear)
        self.outc = nn.Conv2d(4, 2, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        return self.outc(self.up1(self.down1(x1), x1))

    def use_checkpointing(self):
        self.inc = torch.utils.checkpoint(self.inc)


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pw = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.gamma = nn.Parameter(1e-6 * torch.ones((dim)), requires_grad=True)

    def forward(self, x):
        i = x
        x = self.dwconv(x).permute(0, 2, 3, 1)
        x = self.gamma * self.pw(self.norm(x))
        return i + x.permute(0, 3, 1, 2)


class PatchEmbed(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(3, 12, kernel_size=8, stride=8)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = PatchEmbed()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 12))
        self.pos_embedding = nn.Parameter(torch.empty(1, 17, 12).normal_(std=0.02))
        nn.init.trunc_normal_(self.cls_token, std=0.02)
        layer = nn.TransformerEncoderLayer(
            12, 3, 24, 0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(12), enable_nested_tensor=False)
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.patch(x)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embedding
        return self.head(self.encoder(x)[:, 0])


x = waves(2, 3 * 32 * 32).view(2, 3, 32, 32)
y = torch.tensor([1, 3])
models = {
    "resnet": ResNet(BasicBlock, [1, 2]),
    "dense": nn.Sequential(
        nn.Conv2d(3, 4, 3, 2, 1),
        _DenseBlock(2, 4, 2, 3, True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(10, 10),
    ),
    "mb": nn.Sequential(MBConv(3, 6), nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(6, 10)),
    "vgg": nn.Sequential(
        make_layers(cfgs["A"]),
        nn.AdaptiveAvgPool2d((7, 7)),
        nn.Flatten(),
        nn.Linear(8 * 49, 10),
        nn.Dropout(p=0.0),
    ),
    "unet": nn.Sequential(UNet(), nn.Flatten(), nn.Linear(2 * 32 * 32, 10)),
    "unetb": nn.Sequential(UNet(True), nn.Flatten(), nn.Linear(2 * 32 * 32, 10)),
    "convnext": nn.Sequential(
        nn.Conv2d(3, 4, 4, 4),
        LayerNorm2d(4, eps=1e-6),
        CNBlock(4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 10),
    ),
    "vit": ViT(),
}
for name, m in models.items():
    set_weights(m, 0.15)
    opt = torch.optim.AdamW(m.parameters(), lr=1e-3, weight_decay=0.05)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
    m = m.to(memory_format=torch.channels_last)
    for step in range(3):
        opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(m(x), y, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        sched.step()
        print(name, step, "%.4f" % loss.item(), sched.get_last_lr()[0] > 0)
    m.eval()
    with torch.inference_mode():
        print("%.1f" % m(x).abs().sum(), sum(p.numel() for p in m.parameters() if p.requires_grad))
# transfer-learning-like freezing
m = models["resnet"]
for p in m.parameters():
    p.requires_grad = False
m.fc = nn.Linear(m.fc.in_features, 2)
set_weights(m.fc, 0.1)
opt = torch.optim.SGD(m.fc.parameters(), lr=0.1, momentum=0.9)
m.train()
loss = nn.CrossEntropyLoss()(m(x), torch.tensor([0, 1]))
loss.backward()
opt.step()
print("%.4f" % loss, [n for n, p in m.named_parameters() if p.grad is not None], m.conv1.weight.grad is None)
feats = {}
h = m.layer1[0].register_forward_hook(lambda mod, inp, out: feats.__setitem__("l1", out.detach()))
m(x)
h.remove()
print(feats["l1"].shape, m)
