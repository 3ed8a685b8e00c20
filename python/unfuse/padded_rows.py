"""nn.TransformerEncoder with nested tensors: the one place where capture differs from eager.

With `enable_nested_tensor` and a padding mask, eager drops the padded rows of a left-aligned batch,
and writes zeros for them before the encoder's last norm. Under torch.compile that path is skipped
and padded rows are computed like others. The option padded_rows="zero" gives eager's zeros.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._dynamo.symbolic_convert import InstructionTranslator
from torch._guards import detect_fake_mode

from unfuse import _unfuse

from . import origin
from .options import Options
from .report import Report

_aten = torch.ops.aten
_LAYER = _aten._transformer_encoder_layer_fwd.default
_PADDING_MASK = 1
_ROOT = re.compile(r"^(?P<scope>[LG])\['(?P<name>[^']*)'\]\.?(?P<path>.*)$")


@dataclass
class PaddedEncoders:
    """The encoders of a graph that eager may run with nested tensors, by dynamo's name for each."""

    modules: dict[str, torch.nn.TransformerEncoder]

    @classmethod
    def find(cls, module: fx.GraphModule) -> PaddedEncoders:
        """Called while dynamo still traces: the modules are looked up in its frame."""
        modules = {}
        for path in {path for node in module.graph.nodes for path in _encoder_paths(node)}:
            encoder = _resolve(path)
            if getattr(encoder, "use_nested_tensor", False):
                modules[path] = encoder
        return cls(modules)

    def apply(self, aten: fx.GraphModule, options: Options, report: Report) -> None:
        """Notes where eager writes zeros; writes them too when the options say so."""
        for path, layer in self._last_layers(aten).items():
            name = origin.member_path(path)
            report.note(_unfuse.padded_rows_note(name, options.padded_rows == "zero"))
            if options.padded_rows == "zero":
                check = bool(getattr(self.modules[path], "mask_check", True))
                _zero_padded_rows(aten, layer, check)

    def _last_layers(self, aten: fx.GraphModule) -> dict[str, fx.Node]:
        """The last layer of each encoder that got a padding mask and no other."""
        last = {}
        for node in aten.graph.find_nodes(op="call_function", target=_LAYER):
            if len(node.args) < 20 or node.args[19] != _PADDING_MASK:
                continue
            for path in _encoder_paths(node):
                if path in self.modules:
                    last[path] = node
        return last


def _encoder_paths(node: fx.Node) -> list[str]:
    stack = node.meta.get("nn_module_stack") or {}
    return [
        path
        for path, kind in stack.values()
        if isinstance(kind, type) and issubclass(kind, torch.nn.TransformerEncoder)
    ]


def _resolve(path: str) -> Any:
    """The module that dynamo calls "L['self'].encoder"; None when it cannot be found."""
    match = _ROOT.match(path)
    try:
        output = InstructionTranslator.current_tx().output
    except AttributeError:
        return None
    if match is None:
        return None
    scope = output.local_scope if match["scope"] == "L" else output.global_scope
    module = scope.get(match["name"])
    try:
        return module.get_submodule(match["path"])
    except AttributeError:
        return None


def _zero_padded_rows(aten: fx.GraphModule, layer: fx.Node, check_aligned: bool) -> None:
    """Zeroes the layer's result where its mask [batch, length] says padding. With `check_aligned`
    only when every sequence has its padding at the end: eager takes the other path otherwise."""
    mask = layer.args[18]
    users = list(layer.users)

    def call(target: Any, *args: Any) -> fx.Node:
        node = aten.graph.call_function(target, args)
        values = [a.meta["val"] if isinstance(a, fx.Node) else a for a in args]
        with detect_fake_mode(layer.meta["val"]):
            node.meta["val"] = target(*values)
        node.meta["nn_module_stack"] = layer.meta.get("nn_module_stack")
        return node

    with aten.graph.inserting_before(layer.next):
        # Each node goes before what was the layer's next one, so they stay in this order.
        padded = call(_aten.ne.Scalar, mask, 0)
        if check_aligned:
            earlier = call(_aten.slice.Tensor, padded, 1, 0, -1)
            later = call(_aten.slice.Tensor, padded, 1, 1)
            aligned = call(_aten.all.default, call(_aten.le.Tensor, earlier, later))
            padded = call(_aten.logical_and.default, padded, aligned)
        rows = call(_aten.unsqueeze.default, padded, -1)
        zeroed = call(_aten.masked_fill.Scalar, layer, rows, 0)
    for user in users:
        user.replace_input_with(layer, zeroed)
    aten.recompile()
