"""Models that the demo, the tests and the benchmarks share: plain PyTorch, random weights.

Every function takes a ``seed``, so that two calls give the same weights, and returns a module in
eval mode whose parameters do not require a gradient.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def _finished(model: nn.Module, dtype: torch.dtype) -> nn.Module:
    return model.to(dtype).eval().requires_grad_(False)


def encoder(
    layers: int = 6,
    width: int = 512,
    heads: int = 8,
    feedforward: int = 2048,
    *,
    activation: str = "relu",
    norm_first: bool = False,
    enable_nested_tensor: bool = True,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> nn.TransformerEncoder:
    """``nn.TransformerEncoder``: [batch, length, width] to the same, optional padding mask."""
    torch.manual_seed(seed)
    layer = nn.TransformerEncoderLayer(
        width,
        heads,
        feedforward,
        activation=activation,
        norm_first=norm_first,
        batch_first=True,
    )
    nested = enable_nested_tensor and not norm_first
    stack = nn.TransformerEncoder(layer, layers, enable_nested_tensor=nested)
    # nn.TransformerEncoder copies one layer: give each layer weights of its own, and norms and
    # biases that are not all ones and zeros, so that mixing two of them up cannot go unseen.
    for parameter in stack.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    _perturb_vectors(stack)
    return _finished(stack, dtype)


def _perturb_vectors(model: nn.Module) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.05)


class VisionBlock(nn.Module):
    """A block of torchvision's ViT: attention and an MLP, each after its norm."""

    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.dropout = nn.Dropout(0.0)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(width, feedforward),
            nn.GELU(),
            nn.Dropout(0.0),
            nn.Linear(feedforward, width),
            nn.Dropout(0.0),
        )

    def forward(self, input: Tensor) -> Tensor:
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    """torchvision's ``VisionTransformer``: [batch, 3, image, image] to [batch, classes]."""

    def __init__(
        self,
        image: int,
        patch: int,
        layers: int,
        heads: int,
        width: int,
        feedforward: int,
        classes: int,
    ) -> None:
        super().__init__()
        self.width = width
        self.conv_proj = nn.Conv2d(3, width, kernel_size=patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        length = (image // patch) ** 2 + 1
        self.pos_embedding = nn.Parameter(torch.empty(1, length, width).normal_(std=0.02))
        self.dropout = nn.Dropout(0.0)
        self.layers = nn.Sequential(
            *(VisionBlock(width, heads, feedforward) for _ in range(layers))
        )
        self.ln = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, image: Tensor) -> Tensor:
        batch = image.shape[0]
        x = self.conv_proj(image)
        x = x.reshape(batch, self.width, -1).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(batch, -1, -1), x], dim=1)
        x = self.dropout(x + self.pos_embedding)
        x = self.ln(self.layers(x))
        return self.head(x[:, 0])


def vision_transformer(
    image: int = 224,
    patch: int = 16,
    layers: int = 12,
    heads: int = 12,
    width: int = 768,
    feedforward: int = 3072,
    classes: int = 1000,
    *,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> VisionTransformer:
    torch.manual_seed(seed)
    model = VisionTransformer(image, patch, layers, heads, width, feedforward, classes)
    # As torchvision initialises, but for the head, which it leaves at zero.
    fan_in = 3 * patch * patch
    nn.init.trunc_normal_(model.conv_proj.weight, std=math.sqrt(1 / fan_in))
    nn.init.normal_(model.class_token, std=0.02)
    for block in model.layers:
        for linear in (block.mlp[0], block.mlp[3]):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.normal_(linear.bias, std=1e-6)
    _perturb_vectors(model)
    return _finished(model, dtype)


def vit_b_16(*, seed: int = 0, dtype: torch.dtype = torch.float32) -> VisionTransformer:
    """ViT-B/16 with torchvision's architecture: [batch, 3, 224, 224] to [batch, 1000]."""
    return vision_transformer(seed=seed, dtype=dtype)


class BertAttention(nn.Module):
    """Attention written out, as BERT's authors did: the scores, a mask added, a softmax."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (self._split(p(x)) for p in (self.query, self.key, self.value))
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores + mask, dim=-1)
        context = torch.matmul(weights, value).permute(0, 2, 1, 3).contiguous()
        return self.norm(self.output(context.view(x.shape)) + x)


class BertLayer(nn.Module):
    def __init__(self, width: int, heads: int, feedforward: int) -> None:
        super().__init__()
        self.attention = BertAttention(width, heads)
        self.up = nn.Linear(width, feedforward)
        self.down = nn.Linear(feedforward, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention(x, mask)
        return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)


class BertLike(nn.Module):
    """BERT's encoder: token ids and an attention mask (1 = a token, 0 = padding)."""

    def __init__(
        self,
        vocabulary: int,
        positions: int,
        layers: int,
        heads: int,
        width: int,
        feedforward: int,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.positions = nn.Embedding(positions, width)
        self.types = nn.Embedding(2, width)
        self.register_buffer("position_ids", torch.arange(positions)[None], persistent=False)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads, feedforward) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """[batch, length] ints, both, to [batch, length, width] and [batch, width]."""
        positions = self.position_ids[:, : input_ids.shape[1]]
        types = torch.zeros_like(input_ids)
        x = self.words(input_ids) + self.types(types) + self.positions(positions)
        x = self.norm(x)
        mask = attention_mask[:, None, None, :].to(x.dtype)
        mask = (1.0 - mask) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


def bert_like(
    vocabulary: int = 1000,
    positions: int = 128,
    layers: int = 2,
    heads: int = 4,
    width: int = 128,
    feedforward: int = 512,
    *,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> BertLike:
    torch.manual_seed(seed)
    model = BertLike(vocabulary, positions, layers, heads, width, feedforward)
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.05)
    _perturb_vectors(model)
    return _finished(model, dtype)
