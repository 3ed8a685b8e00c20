"""The engines, by name. Each is imported in its own worker only: what one of them loads, or sets,
is none of the others' business."""

from __future__ import annotations

import importlib

from bench.cases import Case

from .engine import Engine

#: Where the class of each is, in the order of the tables.
ENGINES = {
    "eager": "bench.engines.eager:Eager",
    "eager-sdpa": "bench.engines.eager:EagerSdpa",
    "inductor": "bench.engines.compiled:Inductor",
    "onnxruntime": "bench.engines.onnx_runtime:OnnxRuntime",
    "openvino": "bench.engines.open_vino:OpenVino",
    "dynamo-eager": "bench.engines.compiled:DynamoEager",
    "unfuse": "bench.engines.unfuse_compile:Unfuse",
    "unfuse-zero-rows": "bench.engines.unfuse_compile:UnfuseZeroRows",
    "unfuse-command": "bench.engines.unfuse_command:UnfuseCommand",
}

OURS = ("unfuse", "unfuse-zero-rows", "unfuse-command")
_ONLY_WHERE_NAMED = ("dynamo-eager",)


def load(place: str) -> type[Engine]:
    """The class at "module:Class"."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def take_part(name: str, case: Case) -> bool:
    """Whether an engine is measured in a case."""
    if case.engines is not None:
        return name in case.engines
    if name == "unfuse-zero-rows":
        return case.mask == "padding" and case.name.startswith("encoder/")
    return name not in _ONLY_WHERE_NAMED
