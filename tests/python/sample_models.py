"""The models that tests define, each with inputs: for tests of what must hold for every model.

A module stands where it is tested closest, and is listed here; the exported programs of tests/data
are listed in exported_models.py.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import models
import test_composites
import test_core_aten
import test_decompose
import test_decompositions
import test_decompositions_of_sdpa as dot_products
import test_encoder_layer as layers
import test_load
import test_normalize
import test_onnx
import test_packed_rows as packed
import test_padded_rows
import test_parameters
import test_pt2
import test_spelled_attention as spelled
import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

ROWS = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
BATCH = Dim("batch", max=64)
PADDED = ("src", "src_key_padding_mask")


@dataclasses.dataclass
class Sample:
    """A model and a call of it, made anew each time."""

    make: Callable[[], tuple[Any, ...]]  #: (model, *args), and a dict of kwargs if there are any
    dynamic: Any = None  #: torch.export's dynamic_shapes
    strict: bool = False
    apart: bool = False  #: composites are taken apart
    changes: tuple[int, ...] = (3, -1)  #: what other calls add to each size that may vary

    def model_and_call(self) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
        torch.manual_seed(0)
        model, *args = self.make()
        kwargs = args.pop() if isinstance(args[-1], Keywords) else {}
        return model.eval().requires_grad_(False), tuple(args), dict(kwargs)

    def export(self) -> torch.export.ExportedProgram:
        model, args, kwargs = self.model_and_call()
        with torch.no_grad():
            program = torch.export.export(
                model, args, kwargs, dynamic_shapes=self.dynamic, strict=self.strict
            )
            return program.run_decompositions() if self.apart else program


class Keywords(dict):
    """Keyword arguments of a call, behind the others."""


class Together(nn.Module):
    """Functions side by side, each of its own tensors: one export for all of them."""

    def __init__(self, functions: dict[str, Callable[..., Any]]):
        super().__init__()
        self.functions = functions

    def forward(self, given):
        return {name: function(*given[name]) for name, function in self.functions.items()}


def together(cases: dict[str, Any], **options: Any) -> Sample:
    """`cases`: name to (function, *tensors)."""

    def make():
        functions = {name: function for name, (function, *_) in cases.items()}
        return Together(functions), {name: list(tensors) for name, (_, *tensors) in cases.items()}

    return Sample(make, **options)


def spread(case: tuple[Callable[..., Any], list[torch.Tensor]]) -> tuple[Any, ...]:
    function, tensors = case
    return function, *tensors


def any_rows(cases: dict[str, Any]) -> Any:
    """dynamic_shapes: every first size of every first tensor is free, as far as its function lets
    it be."""
    return (
        {
            name: [{0: Dim.AUTO} if i == 0 and t.dim() else None for i, t in enumerate(tensors)]
            for name, (_, *tensors) in cases.items()
        },
    )


def batches(cases: dict[str, Any], size: int) -> list[dict[str, Any]]:
    items = iter(cases.items())
    return [dict(part) for part in iter(lambda: list(itertools.islice(items, size)), [])]


SAMPLES: dict[str, Sample] = {}


# --- nn.TransformerEncoder and its layers

for kind in ("none", "padding", "causal", "square", "both"):
    SAMPLES[f"layer, mask {kind}"] = Sample(
        lambda kind=kind: (
            layers.encoder_layer(torch.float32),
            torch.randn(layers.BATCH, layers.LENGTH, layers.WIDTH),
            Keywords(layers.layer_masks(kind)),
        ),
        strict=True,
    )
for norm_first, activation in itertools.product((False, True), ("relu", "gelu")):
    SAMPLES[f"encoder, {activation}{', norm first' * norm_first}"] = Sample(
        lambda norm_first=norm_first, activation=activation: (
            packed.encoder(1, norm_first=norm_first, activation=activation),
            torch.randn(2, 5, packed.WIDTH),
        ),
        dynamic=(ROWS,),
        strict=True,
    )
for dtype in (torch.float16, torch.bfloat16, torch.float64):
    SAMPLES[f"encoder, {dtype}, padding"] = Sample(
        lambda dtype=dtype: (
            packed.encoder(1, dtype=dtype, activation="gelu", enable_nested_tensor=False),
            torch.randn(3, 5, packed.WIDTH).to(dtype),
            Keywords(src_key_padding_mask=packed.padding_of([5, 2, 3], 5)),
        ),
        # ONNX Runtime crashes over bfloat16 whose sizes vary: docs/facts.md.
        dynamic=None if dtype == torch.bfloat16 else dict.fromkeys(PADDED, {0: Dim.DYNAMIC}),
    )
SAMPLES["encoder, padding"] = Sample(
    lambda: (
        packed.encoder(),
        torch.randn(3, 5, packed.WIDTH),
        Keywords(src_key_padding_mask=packed.padding_of([5, 2, 3], 5)),
    ),
    strict=True,
)
for name, options in {"heads": {}, "norm": {"norm": nn.LayerNorm(test_padded_rows.WIDTH)}}.items():
    SAMPLES[f"encoder in a model, {name}"] = Sample(
        lambda options=options: (
            test_padded_rows.Model(**options),
            torch.randn(test_padded_rows.BATCH, test_padded_rows.LENGTH, test_padded_rows.WIDTH),
            test_padded_rows.padding_mask(),
            None,
        ),
    )
SAMPLES["decoder"] = Sample(
    lambda: (
        nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32, batch_first=True), 1),
        torch.randn(2, 4, 16),
        torch.randn(2, 5, 16),
        Keywords(tgt_mask=nn.Transformer.generate_square_subsequent_mask(4), tgt_is_causal=True),
    ),
    dynamic={
        "tgt": {0: BATCH},
        "memory": {0: BATCH, 1: Dim.DYNAMIC},
        "tgt_mask": None,
        "tgt_is_causal": None,
    },
)
SAMPLES["encoder and decoder"] = Sample(
    lambda: (
        nn.Transformer(16, 2, 1, 1, 32, batch_first=True),
        torch.randn(2, 5, 16),
        torch.randn(2, 4, 16),
    ),
)

# --- Pooled tokens

POOLED = {
    **{how: packed.Pooled for how in ("mul", "expand", "fill", "max", "where", "first")},
    **{how: packed.ReadsPadding for how in ("mean", "both", "last", "other mask")},
    **{how: packed.Masked for how in ("whole", "slice")},
}
for how, module in POOLED.items():
    SAMPLES[f"pooled, {how}"] = Sample(
        lambda how=how, module=module: (
            module(packed.encoder(1, enable_nested_tensor=False), how),
            torch.randn(3, 5, packed.WIDTH),
            packed.padding_of([5, 2, 3], 5),
        ),
        dynamic=(ROWS, ROWS),
    )
for dtype in (torch.int8, torch.int64):
    SAMPLES[f"pooled, {dtype}"] = Sample(
        lambda dtype=dtype: (
            packed.PooledByIntegers(packed.encoder(1, enable_nested_tensor=False), dtype),
            torch.randn(3, 5, packed.WIDTH),
            (~packed.padding_of([5, 2, 3], 5)).long() * 256 + 1,
        ),
    )

# --- BERT, ViT

SAMPLES["bert, pooled"] = Sample(
    lambda: (
        packed.PooledBert("both"),
        torch.randint(0, 20, (3, 7)),
        (~packed.padding_of([7, 2, 3], 7)).long(),
    ),
    dynamic=(ROWS, ROWS),
)
for name, (make, args, dynamic) in test_pt2.CASES.items():
    SAMPLES[f"read: {name}"] = Sample(
        lambda make=make, args=args: (make(), *args), dynamic=dynamic, strict=name == "encoder"
    )
for dtype in (torch.float32, torch.float16):
    SAMPLES[f"vision block, {dtype}"] = Sample(
        lambda dtype=dtype: (test_normalize.Block().to(dtype), torch.randn(2, 3, 8, 8).to(dtype)),
        dynamic=({0: Dim.DYNAMIC},),
    )

# --- Attention that models spell out

for name, form in {**spelled.FORMS, **spelled.JOINED}.items():
    SAMPLES[f"spelled: {name}"] = Sample(
        lambda name=name, form=form: (
            spelled.Spelled(form, softmax_dtype=torch.float32 if name == "t5" else None),
            spelled.tokens(torch.float32),
            spelled.hidden_keys()
            if name in spelled.JOINED
            else spelled.added_mask(torch.float32, torch.finfo(torch.float32).min),
        ),
        dynamic=({0: BATCH}, ({0: BATCH},)),
    )
for masked in (False, True):
    SAMPLES[f"multi-head attention{', masked' * masked}"] = Sample(
        lambda masked=masked: (spelled.WithoutWeights(masked), spelled.tokens(torch.float32)),
    )

# --- Fused ops, called by themselves

for weights in ((False, True), (True, True), (True, False)):
    SAMPLES[f"fused attention, weights {weights}"] = Sample(
        lambda weights=weights: (
            test_decompose.Attention(need_weights=weights[0], average=weights[1]),
            torch.randn(3, 5, 16),
            test_decompose.fully_masked(),
        ),
        strict=True,
    )
SAMPLES["mutations around a fused op"] = Sample(
    lambda: (test_decompose.Carries(), torch.randn(3, 5, 16), test_decompose.fully_masked()),
    strict=True,
)
SAMPLES["fused layers"] = together(
    {kind: spread(test_decompositions.layer_case(kind)) for kind in test_decompositions.MASKS}
)
SAMPLES["fused attention"] = together(
    {kind: spread(test_decompositions.attention_case(kind)) for kind in test_decompositions.MASKS}
)
DOT_PRODUCTS = {
    f"{kind}, causal {causal}": (
        functools.partial(dot_products.sdpa, is_causal=causal),
        *dot_products.qkv(),
        *mask(),
    )
    for kind, mask in dot_products.SDPA_MASKS.items()
    for causal in (False, True)
    if not (causal and kind == "float heads")
}
for index, (tensors, options) in enumerate(dot_products.SHAPES):
    DOT_PRODUCTS[f"shape {index}"] = (functools.partial(dot_products.sdpa, **options), *tensors)
for ranks, tensors in dot_products.RANKS.items():
    for index, sizes in enumerate(dot_products.MASKS_THAT_BROADCAST):
        if ranks == "value 4" and len(sizes) == 4:
            continue  # PyTorch refuses it
        mask = dot_products.random(*sizes, seed=5)
        mask = mask > 0 if index % 2 else mask
        DOT_PRODUCTS[f"ranks {ranks}, mask {sizes}"] = (dot_products.sdpa, *tensors, mask)
for index, batch in enumerate(batches(DOT_PRODUCTS, 40)):
    SAMPLES[f"dot product attention {index}"] = together(batch)
SAMPLES["dot product attention, any sizes"] = Sample(
    lambda: (test_onnx.Attention(), *(torch.randn(2, 4, n, 8) for n in (6, 5, 5))),
    dynamic=({0: BATCH, 2: Dim.DYNAMIC}, *({0: BATCH, 2: Dim("keys", max=64)},) * 2),
)

# --- Functions of every kind

#: Cases of what ONNX has no form of, or not in every opset: apart, so that all others are exported.
WITHOUT_ONNX_FORM = {"integers"}  # of test_normalize
#: Samples that hold such an op.
REFUSED = {"forms without ONNX form"}
CORE = {name: (f, torch.randn(3, 5, 16)) for name, f in test_core_aten.FUNCTIONS.items()}
FORMS = {name: tuple(case) for name, case in test_normalize.CASES.items()}
for kind, cases, size, options in (
    ("functions", CORE, 24, {"changes": (3, 1)}),  # some take the third row
    ("forms", FORMS, 28, {}),
):
    left_out = {name: case for name, case in cases.items() if name in WITHOUT_ONNX_FORM}
    said = {name: case for name, case in cases.items() if name not in left_out}
    if left_out:
        SAMPLES[f"{kind} without ONNX form"] = together(left_out)
    for index, batch in enumerate(batches(said, size)):
        SAMPLES[f"{kind} {index}"] = together(batch, dynamic=any_rows(batch), **options)
SAMPLES["composites"] = together(
    {name: (f, test_composites.X) for name, f in test_composites.TAKEN_APART.items()}, apart=True
)
SAMPLES["bilinear"] = Sample(
    lambda: (nn.Bilinear(4, 5, 3), torch.randn(2, 3, 4), torch.randn(2, 3, 5)),
    dynamic=(ROWS, ROWS),
)
SAMPLES["weights shared"] = Sample(lambda: (test_parameters.Pair(), torch.randn(3, 8)))

# --- Calls: structures, ints, what is written to

SAMPLES["structures"] = Sample(
    lambda: (
        test_load.Structured(),
        *test_load.structured_arguments()[0],
        Keywords(test_load.structured_arguments()[1]),
    )
)
# The example inputs of a file are pickled, and torch.load asks for the class.
torch.serialization.add_safe_globals([test_load.Pair])
SAMPLES["fields"] = Sample(
    lambda: (
        test_load.Fields(),
        test_load.Pair(torch.randn(2), None, torch.randn(2)),
        torch.randn(2),
    )
)
SAMPLES["accumulate"] = Sample(lambda: (test_load.Accumulate(), torch.randn(3)))
SAMPLES["an int"] = Sample(
    lambda: (test_onnx.Shift(), torch.randn(2, 9), 3), dynamic=(None, Dim.DYNAMIC)
)
SAMPLES["sizes"] = Sample(
    lambda: (test_onnx.Sizes(), torch.randn(4, 6), torch.randn(5)),
    dynamic={"x": ROWS, "y": {0: Dim.DYNAMIC}},
)
SAMPLES["whole encoder"] = Sample(
    lambda: (models.encoder(2, 32, 2, 64), torch.randn(2, 8, 32)),
    dynamic=({1: Dim("length", min=2, max=64)},),
    strict=True,
)


# --- Exported once a session

_folder = tempfile.TemporaryDirectory(prefix="unfuse-samples-")


@functools.cache
def program(name: str) -> torch.export.ExportedProgram:
    return SAMPLES[name].export()


@functools.cache
def saved(name: str) -> Path:
    path = Path(_folder.name, f"{list(SAMPLES).index(name)}.pt2")
    torch.export.save(program(name), path)
    return path


def leaves(name: str, args: Any, kwargs: Any) -> list[tuple[torch.fx.Node, Any]]:
    """The inputs of the sample's program, and what a call gives for each."""
    nodes = {node.name: node for node in program(name).graph.find_nodes(op="placeholder")}
    inputs = [
        nodes[spec.arg.name]
        for spec in program(name).graph_signature.input_specs
        if spec.kind.name == "USER_INPUT"
    ]
    return list(zip(inputs, pytree.tree_leaves((args, kwargs)), strict=True))


def calls_of_other_sizes(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The sample's call with every size changed that may vary; empty where none may."""
    _, args, kwargs = SAMPLES[name].model_and_call()
    taken = leaves(name, args, kwargs)
    sizes = [size for node, _ in taken for size in symbolic(node)]
    values = {size.node.expr: size.node.hint for size in sizes if size.node.expr.is_Symbol}
    calls = []
    for change in SAMPLES[name].changes:
        changed = {symbol: max(2, value + change) for symbol, value in values.items()}
        if changed == values:
            continue
        given = [resized(node, value, changed) for node, value in taken]
        calls.append(pytree.tree_unflatten(given, pytree.tree_structure((args, kwargs))))
    return calls


def symbolic(node: torch.fx.Node) -> list[torch.SymInt]:
    value = node.meta["val"]
    return [size for size in getattr(value, "shape", [value]) if isinstance(size, torch.SymInt)]


def resized(node: torch.fx.Node, value: Any, sizes: dict[Any, int]) -> Any:
    """The value with its elements repeated, or cut, to other sizes."""
    if not symbolic(node):
        return value
    if not isinstance(value, torch.Tensor):
        return int(node.meta["val"].node.expr.subs(sizes))
    for dimension, size in enumerate(node.meta["val"].shape):
        if isinstance(size, torch.SymInt):
            places = torch.arange(int(size.node.expr.subs(sizes))) % value.shape[dimension]
            value = value.index_select(dimension, places)
    return value
