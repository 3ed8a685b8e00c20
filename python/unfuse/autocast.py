"""The fused encoder layer under autocast.

Autocast knows no rule for `aten._transformer_encoder_layer_fwd`, but eager runs its kernel with
autocast on: the products inside are in the lower precision, and so is the result. Traced, the op is
one node that nothing looks into. So its operands are cast as it is traced, by the rule that
autocast has for `aten._native_multi_head_attention` and `aten.linear`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import guard_or_false

_LAYER = torch.ops.aten._transformer_encoder_layer_fwd.default
_ARGUMENTS = [argument.name for argument in _LAYER._schema.arguments]
_NORMS = ("norm_weight_1", "norm_bias_1", "norm_weight_2", "norm_bias_2")


def cast_encoder_layers(module: fx.GraphModule) -> None:
    """Has each layer of a dynamo graph cast its operands where autocast is on when it is traced:
    that may be around the graph, or in a part of it."""
    for target in (_LAYER, _LAYER.overloadpacket, torch._transformer_encoder_layer_fwd):
        for node in module.graph.find_nodes(op="call_function", target=target):
            node.target = _encoder_layer
    module.recompile()


def _encoder_layer(*args: Any, **kwargs: Any) -> torch.Tensor:
    given = {**dict(zip(_ARGUMENTS, args)), **kwargs}
    # Eager clones what is empty.
    if torch.is_autocast_enabled("cpu") and not guard_or_false(given["src"].numel() == 0):
        given = {name: _cast(name, value) for name, value in given.items()}
    return _LAYER(**given)


def _cast(name: str, value: Any) -> Any:
    """Layer norm is none of what autocast casts for; float64 it leaves alone."""
    if name in _NORMS or not isinstance(value, torch.Tensor):
        return value
    if not value.is_floating_point() or value.dtype is torch.float64:
        return value
    return value.to(torch.get_autocast_dtype("cpu"))
