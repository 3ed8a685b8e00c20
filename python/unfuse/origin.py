"""Where a node comes from: the module, and the line of the user's own Python."""

from __future__ import annotations

import os
import re
from typing import Any

import torch
from torch import fx

_TORCH = os.path.dirname(torch.__file__) + os.sep
_FRAME = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+)', re.MULTILINE)
_NAME = re.compile(r"^\w+(\.\w+)*$")
_ROOT = re.compile(r"^[LG]\['[^']*'\]\.?")
_MEMBER = re.compile(r"\.?_(?:modules|parameters|buffers|non_persistent_buffers)\['([^']*)'\]")


def module_path(node: fx.Node) -> str:
    """ "encoder.layers.0.self_attn"; empty for the outermost module, and when unknown."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path, _ = list(stack.values())[-1]
    return member_path(path)


def member_path(source: str) -> str:
    """Dynamo's name of a module, parameter or buffer as the model's own user would write it:
    "L['self']._modules['layers']._parameters['weight']" is "layers.weight"."""
    return _MEMBER.sub(r".\1", _ROOT.sub("", source)).lstrip(".")


def source_line(node: fx.Node) -> str:
    """ "model.py:41": the innermost line outside PyTorch; empty when there is none."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [(file, line) for file, line in frames if not file.startswith(_TORCH)]
    if not own:
        return ""
    file, line = own[-1]
    return f"{os.path.basename(file)}:{line}"


def input_name(placeholder: fx.Node) -> str:
    """What the user calls this input: a parameter's path, or an argument's name."""
    argument: Any = placeholder.meta.get("grapharg")
    source = getattr(argument, "source", None)
    if source is None:
        return placeholder.name
    name = source.name() if callable(source.name) else source.name
    path = member_path(name) or re.sub(r"^[LG]\['([^']*)'\]$", r"\1", name)
    return path if _NAME.match(path) else placeholder.name
