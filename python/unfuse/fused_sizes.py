"""What the fused ops require of symbolic sizes.

The ops check their arguments when they run; tracing them compares nothing, so that a mask's batch
and the input's are different symbols. The comparisons made here become guards of the traced graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import fx

_aten = torch.ops.aten
_SQUARE, _PADDING = 0, 1


def guard_fused_sizes(aten: fx.GraphModule) -> None:
    """Called before the graph's types are read: equal symbols are one from then on."""
    for target, requirements in _REQUIREMENTS.items():
        for node in aten.graph.find_nodes(op="call_function", target=target):
            values = [a.meta["val"] if isinstance(a, fx.Node) else a for a in node.args]
            for left, right in requirements(values):
                bool(left == right)  # A guard, when it was not known before.


def _encoder_layer(args: list[Any]) -> Iterable[tuple[Any, Any]]:
    source, width, heads = args[0], args[1], args[2]
    mask, mask_type = (*args[18:], None, None)[:2]
    return [(source.shape[-1], width), *_mask(source, heads, mask, mask_type)]


def _attention(args: list[Any]) -> Iterable[tuple[Any, Any]]:
    query, key, value, width, heads = args[:5]
    mask, _, _, mask_type = (*args[9:], *[None] * 4)[:4]
    same = [pair for other in (key, value) for pair in zip(query.shape, other.shape)]
    return [*same, (query.shape[-1], width), *_mask(query, heads, mask, mask_type)]


def _mask(source: Any, heads: int, mask: Any, mask_type: int | None) -> list[tuple[Any, Any]]:
    if mask is None:
        return []
    batch, length = source.shape[0], source.shape[1]
    if mask.dim() == 2 and mask_type == _SQUARE:
        wanted = (length, length)
    elif mask.dim() == 2 and mask_type == _PADDING:
        wanted = (batch, length)
    else:
        wanted = (batch, heads, length, length)
    return list(zip(mask.shape, wanted))


_REQUIREMENTS = {
    _aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    _aten._native_multi_head_attention.default: _attention,
}
