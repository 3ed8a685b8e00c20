"""Makes the small model files of the C++ tests, with torch's own inputs and outputs.

    python tests/data/make_models.py [NAME ...]

writes NAME.pt2 (torch.export.save), NAME.inputs.safetensors and NAME.outputs.safetensors beside
this file, for all models or for those named; NAME.written.safetensors too where the model writes to
its inputs, with what they hold afterwards. An input is stored under its name in the call (x,
pair[0]), an output under the name that the exported program gives it. The outputs are what torch
computes for the exported graph on the CPU. The files are in the tree, so that the C++ tests check
against torch without having it; run this again only to add a model, or when the format is read
differently. Weights are random: what is tested is arithmetic.
"""

import dataclasses
import inspect
import math
import pathlib
import re
import sys
import typing

import numpy
import torch
from safetensors.torch import save_file
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent
FUSED_LAYER = torch.ops.aten._transformer_encoder_layer_fwd.default
FUSED_ATTENTION = torch.ops.aten._native_multi_head_attention.default

EMBED, HEADS, FEEDFORWARD = 16, 2, 32
BATCH, LENGTH = 2, 5


@dataclasses.dataclass
class Case:
    model: nn.Module
    args: tuple
    kwargs: dict = dataclasses.field(default_factory=dict)
    strict: bool = False
    dynamic_shapes: typing.Any = None
    # Run through torch's decompositions to the core ATen ops, which also makes it functional.
    core: bool = False
    # Op -> how many nodes of it the file must hold.
    holds: dict = dataclasses.field(default_factory=dict)


CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def randomize(model):
    """Gives norms and biases, which start as ones and zeros, values that show in the result."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.eval()


def layer(dtype=torch.float32, **options):
    made = nn.TransformerEncoderLayer(EMBED, HEADS, FEEDFORWARD, batch_first=True, **options)
    return randomize(made).to(dtype)


def tokens(dtype=torch.float32):
    return torch.randn(BATCH, LENGTH, EMBED).to(dtype)


def padding():
    """True is padding: the last two tokens of the second sequence."""
    mask = torch.zeros(BATCH, LENGTH, dtype=torch.bool)
    mask[1, -2:] = True
    return mask


class Padded(nn.Module):
    """Names the mask's keyword, so that it is a positional input of the exported program."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, src, padding_mask):
        return self.inner(src, src_key_padding_mask=padding_mask)


# --- Encoder layers that export as one fused op: strict, and under no_grad


def fused_layer(model, *args):
    return Case(model, args, strict=True, holds={FUSED_LAYER: 1})


@case
def encoder_layer():
    return fused_layer(layer(), tokens())


@case
def encoder_layer_norm_first_gelu():
    return fused_layer(layer(norm_first=True, activation="gelu", layer_norm_eps=1e-3), tokens())


@case
def encoder_layer_padding_bool():
    return fused_layer(Padded(layer()), tokens(), padding())


@case
def encoder_layer_padding_float():
    # torch warns that the mask is converted: every nonzero value masks.
    mask = torch.zeros(BATCH, LENGTH).masked_fill(padding(), float("-inf"))
    return fused_layer(Padded(layer(norm_first=True)), tokens(), mask)


@case
def encoder_layer_causal():
    class Causal(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = layer()
            causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
            self.register_buffer("mask", causal, persistent=False)

        def forward(self, src):
            return self.inner(src, src_mask=self.mask, is_causal=True)

    return fused_layer(Causal(), tokens())


@case
def encoder_layer_float16():
    return fused_layer(
        Padded(layer(torch.float16, activation="gelu")), tokens(torch.float16), padding()
    )


@case
def encoder_layer_bfloat16():
    return fused_layer(layer(torch.bfloat16, norm_first=True), tokens(torch.bfloat16))


# --- The fused attention op, called directly as code written for older versions does


class FusedAttention(nn.Module):
    def __init__(self, need_weights, average):
        super().__init__()
        self.attention = randomize(nn.MultiheadAttention(EMBED, HEADS, batch_first=True))
        self.options = (need_weights, average)

    def forward(self, query, key, value, mask):
        own = self.attention
        return torch._native_multi_head_attention(
            query, key, value, EMBED, HEADS, own.in_proj_weight, own.in_proj_bias,
            own.out_proj.weight, own.out_proj.bias, mask, *self.options,
            None if mask is None else 1,
        )  # fmt: skip


def fused_attention(need_weights, average, mask):
    inputs = (tokens(), tokens(), tokens(), mask)
    return Case(FusedAttention(need_weights, average), inputs, holds={FUSED_ATTENTION: 1})


@case
def attention_op():
    return fused_attention(False, True, padding())


@case
def attention_op_weights():
    return fused_attention(True, False, padding())


@case
def attention_op_average_weights():
    return fused_attention(True, True, None)


@case
def attention_op_fully_masked():
    mask = padding()
    mask[1] = True  # the op gives NaN for this sequence
    return fused_attention(False, True, mask)


# --- Whole encoders


@case
def encoder_dynamic():
    """Two fused layers of dynamic batch and length."""
    model = randomize(nn.TransformerEncoder(layer(), 2, enable_nested_tensor=False))
    sizes = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("length", max=4096)}
    return Case(
        model, (tokens(),), strict=True, dynamic_shapes={"src": sizes}, holds={FUSED_LAYER: 2}
    )


@case
def encoder_slow_path():
    """Not strict: the modules' own Python is traced, and attention arrives as SDPA."""
    model = randomize(nn.TransformerEncoder(layer(activation="gelu"), 1, norm=nn.LayerNorm(EMBED)))
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    return Case(
        Padded(model),
        (tokens(), padding()),
        dynamic_shapes={"src": sizes, "padding_mask": sizes},
    )


@case
def encoder_core():
    """The same after run_decompositions(): the ops that AOTAutograd would give, too."""
    return dataclasses.replace(encoder_slow_path(), core=True)


class PatchEncoderBlock(nn.Module):
    """torchvision's EncoderBlock."""

    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(EMBED, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(EMBED, HEADS, batch_first=True)
        self.ln_2 = nn.LayerNorm(EMBED, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(EMBED, FEEDFORWARD),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(FEEDFORWARD, EMBED),
            nn.Dropout(0.1),
        )

    def forward(self, input):
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = x + input
        return x + self.mlp(self.ln_2(x))


class TinyViT(nn.Module):
    """torchvision's VisionTransformer: images of 16x16, patches of 4x4, ten classes."""

    def __init__(self):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, EMBED, kernel_size=4, stride=4)
        self.class_token = nn.Parameter(torch.randn(1, 1, EMBED))
        self.pos_embedding = nn.Parameter(torch.randn(1, 17, EMBED) * 0.1)
        self.layers = nn.Sequential(PatchEncoderBlock(), PatchEncoderBlock())
        self.ln = nn.LayerNorm(EMBED, eps=1e-6)
        self.head = nn.Linear(EMBED, 10)

    def forward(self, images):
        batch = images.shape[0]
        x = self.conv_proj(images).reshape(batch, EMBED, 16).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(batch, -1, -1), x], dim=1)
        x = self.ln(self.layers(x + self.pos_embedding))
        return self.head(x[:, 0])


@case
def vit():
    return Case(randomize(TinyViT()), (torch.randn(3, 3, 16, 16),))


class TinyBert(nn.Module):
    """BERT as transformers spells it without SDPA: embeddings, explicit softmax, a pooler."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, EMBED, padding_idx=0)
        self.positions = nn.Embedding(32, EMBED)
        self.token_types = nn.Embedding(2, EMBED)
        self.norm = nn.LayerNorm(EMBED, eps=1e-12)
        self.query, self.key, self.value, self.output = (nn.Linear(EMBED, EMBED) for _ in range(4))
        self.attention_norm = nn.LayerNorm(EMBED, eps=1e-12)
        self.intermediate = nn.Linear(EMBED, FEEDFORWARD)
        self.reduce = nn.Linear(FEEDFORWARD, EMBED)
        self.output_norm = nn.LayerNorm(EMBED, eps=1e-12)
        self.pooler = nn.Linear(EMBED, EMBED)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, EMBED // HEADS).permute(0, 2, 1, 3)

    def forward(self, input_ids, attention_mask, token_type_ids):
        length = input_ids.shape[1]
        positions = torch.arange(length, device=input_ids.device).unsqueeze(0)
        x = self.words(input_ids) + self.token_types(token_type_ids) + self.positions(positions)
        x = self.norm(x)
        extended = attention_mask[:, None, None, :].to(x.dtype)
        extended = (1.0 - extended) * torch.finfo(x.dtype).min
        query, key, value = (
            self.heads(self.query(x)),
            self.heads(self.key(x)),
            self.heads(self.value(x)),
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(EMBED // HEADS) + extended
        context = (torch.softmax(scores, dim=-1) @ value).permute(0, 2, 1, 3).contiguous()
        x = self.attention_norm(self.output(context.view(x.shape)) + x)
        x = self.output_norm(self.reduce(nn.functional.gelu(self.intermediate(x))) + x)
        mask = attention_mask.unsqueeze(-1).to(x.dtype)
        mean = (x * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        sentence = nn.functional.normalize(mean, p=2.0, dim=1)
        return {"hidden": x, "pooled": torch.tanh(self.pooler(x[:, 0])), "sentence": sentence}


@case
def bert():
    ids = torch.randint(1, 50, (BATCH, 7))
    ids[1, 4:] = 0
    types = torch.zeros_like(ids)
    types[:, 3:] = 1
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=32)}
    return Case(
        randomize(TinyBert()),
        (),
        {"input_ids": ids, "attention_mask": (ids != 0).long(), "token_type_ids": types},
        dynamic_shapes={"input_ids": sizes, "attention_mask": sizes, "token_type_ids": sizes},
    )


# --- What the graph's plumbing must get right


@case
def attention_forms():
    """SDPA with a causal mask, a float mask, a scale, and grouped heads."""

    class Forms(nn.Module):
        def forward(self, query, key, value, bias):
            attention = nn.functional.scaled_dot_product_attention
            causal = attention(query, query, query, is_causal=True)
            grouped = attention(query, key, value, attn_mask=bias, scale=0.3, enable_gqa=True)
            rows = torch.ones(6, 6, dtype=torch.bool).tril(-1)  # nobody to attend to in row 0
            return causal, grouped, attention(query, query, query, attn_mask=rows)

    query, key, value = torch.randn(2, 4, 6, 8), torch.randn(2, 2, 3, 8), torch.randn(2, 2, 3, 8)
    return Case(Forms(), (query, key, value, torch.randn(6, 3)))


@case
def mutations():
    """Writes in place: to a local, through views, to a buffer, to an input."""

    class Mutations(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
            self.register_buffer("running", torch.ones(EMBED))

        def forward(self, x, mask, state):
            self.calls.add_(1)
            self.running.mul_(0.9).add_(x.mean((0, 1)), alpha=0.1)
            y = x.clone()
            y.masked_fill_(mask.unsqueeze(-1), float("-inf"))
            y[:, 1:3].zero_()
            y.transpose(0, 1)[0].add_(self.running)
            flat = y.view(-1, EMBED)
            flat[0].copy_(x[0, 1])
            y[..., ::2] *= 2
            state.add_(x.sum())
            return y, flat.clamp(-3, 3), self.calls + 0

    return Case(Mutations(), (tokens(), padding(), torch.ones(3)))


@case
def mutations_core():
    """The same as the signature tells it: functional ops, and results to be written back."""
    return dataclasses.replace(mutations(), core=True)


@case
def weights_shared():
    """One storage under several names and strides: tied, transposed, expanded, a slice."""

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(20, EMBED)
            self.head = nn.Linear(EMBED, 20, bias=False)
            self.head.weight = self.embedding.weight
            self.transposed = nn.Parameter(torch.randn(EMBED, 6).t())
            self.register_buffer("expanded", torch.randn(1, EMBED).expand(4, EMBED))
            whole = torch.randn(8, EMBED)
            self.register_buffer("upper", whole[:4])
            self.register_buffer("lower", whole[4:], persistent=False)

        def forward(self, ids):
            x = self.embedding(ids) + self.expanded + self.upper * self.lower
            return self.head(x), nn.functional.linear(x, self.transposed)

    return Case(Shared().eval(), (torch.randint(0, 20, (3, 4)),))


class Point(typing.NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


@case
def signature():
    """Nested inputs, constant inputs, a default, outputs of every kind."""

    class Signature(nn.Module):
        def forward(self, pair, options, factor=2, mode="sum", bias=None):
            first, second = pair
            total = first + second * factor
            if mode == "sum":
                total = total + options["offset"]
            return {"total": total, "nothing": bias, "three": 3, "pair": [first * 1.5, total]}

    args = ((torch.randn(2, 3), torch.randn(3)), {"offset": torch.randn(2, 1)}, 3)
    return Case(Signature(), args, {"mode": "sum", "bias": None})


@case
def arithmetic():
    """Integers, bools, comparisons, reductions, indexing and shapes computed from sizes."""

    class Arithmetic(nn.Module):
        def forward(self, x, ids, keep):
            rows = x.shape[0]
            scaled = torch.where(keep, x, x.new_full((), -1.5)) / (rows + 1)
            top = x.argmax(-1)
            gathered = torch.gather(x, 1, ids)
            counts = (ids > 1).sum(-1) + ids.float().mean(-1).to(torch.int64) // 2
            chunks = torch.cat(torch.split(x, 2, dim=1)[::-1], dim=1)
            stacked = torch.stack([chunks.pow(2).sum(0), chunks.abs().amax(0), chunks.var(0)])
            positions = torch.arange(rows * 2, dtype=torch.float32).view(rows, 2).cumsum(0)
            flags = torch.logical_and(keep, ~(x > 0.5)).any(1)
            return scaled, top, gathered, counts, stacked, positions, flags, x[ids[:, 0] % rows]

    x = torch.randn(4, 6)
    ids = torch.randint(0, 6, (4, 3))
    rows = {0: torch.export.Dim("rows", min=2, max=1000)}
    return Case(
        Arithmetic(),
        (x, ids, torch.rand(4, 6) > 0.3),
        dynamic_shapes={"x": rows, "ids": rows, "keep": rows},
    )


@case
def left_to_torch():
    """An op that no target takes, between others that the CPU target does take."""

    class Spectrum(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(EMBED, EMBED)

        def forward(self, x):
            return self.linear(torch.fft.rfft(self.linear(x), n=EMBED * 2 - 2).abs())

    return Case(randomize(Spectrum()), (tokens(),))


# --- Writing


def shorten_sources(program, keep):
    """Takes the folders of this machine out of the recorded source lines, or all of them."""
    for node in program.graph.nodes:
        trace = node.meta.get("stack_trace")
        if trace is None:
            continue
        if not keep:
            del node.meta["stack_trace"]
            continue
        trace = re.sub(r'"[^"]*/site-packages/', '"site-packages/', trace)
        node.meta["stack_trace"] = trace.replace(f'"{FOLDER}/', '"')


def flat_tensors(names, values):
    """name -> contiguous tensor of its own, for what of the values is a tensor."""
    pairs = zip(names, values, strict=True)
    return {
        name: value.detach().clone().contiguous()
        for name, value in pairs
        if isinstance(value, torch.Tensor)
    }


def output_names(program):
    """Names of the results in order; what is not a tensor, or not named, gets None."""
    names = []
    for spec in program.graph_signature.output_specs:
        if spec.kind == torch.export.graph_signature.OutputKind.USER_OUTPUT:
            names.append(getattr(spec.arg, "name", None))
    return names


def flat_inputs(made):
    """Names and values of the flattened arguments of a call: x, pair[0], options['offset']."""
    bound = inspect.signature(made.model.forward).bind(*made.args, **made.kwargs)
    names, values = [], []
    for argument, nested in bound.arguments.items():
        for path, value in torch.utils._pytree.tree_flatten_with_path(nested)[0]:
            names.append(argument + torch.utils._pytree.keystr(path))
            values.append(value)
    return names, values


def write(name):
    torch.manual_seed(sum(name.encode()))
    made = CASES[name]()
    with torch.no_grad():
        program = torch.export.export(
            made.model,
            made.args,
            made.kwargs,
            strict=made.strict,
            dynamic_shapes=made.dynamic_shapes,
        )
        if made.core:
            program = program.run_decompositions()
    for op, count in made.holds.items():
        found = sum(node.target is op for node in program.graph.nodes)
        assert found == count, f"{name} holds {found} of {op}, not {count}"
    shorten_sources(program, keep=not made.core)
    torch.export.save(program, FOLDER / f"{name}.pt2")

    names, values = flat_inputs(made)
    inputs = flat_tensors(names, values)
    save_file(inputs, FOLDER / f"{name}.inputs.safetensors")
    with torch.no_grad():
        results = program.module()(*made.args, **made.kwargs)
    flat_outputs = torch.utils._pytree.tree_leaves(results)
    outputs = flat_tensors(output_names(program), flat_outputs)
    save_file(outputs, FOLDER / f"{name}.outputs.safetensors")
    after = flat_tensors(names, values)
    written = {key: value for key, value in after.items() if not value.equal(inputs[key])}
    if written:
        save_file(written, FOLDER / f"{name}.written.safetensors")
    print(f"{name}: {(FOLDER / f'{name}.pt2').stat().st_size / 1024:.0f} KB")


def write_arrays():
    """The same arrays as NumPy writes them and as safetensors does."""
    random = numpy.random.default_rng(0)
    arrays = {
        "float32": random.standard_normal((3, 4), dtype=numpy.float32),
        "float16": random.standard_normal(5).astype(numpy.float16),
        "float64_fortran": numpy.asfortranarray(random.standard_normal((2, 3, 4))),
        "int64": random.integers(-9, 9, (2, 2)),
        "uint8": random.integers(0, 255, 7).astype(numpy.uint8),
        "bool": random.random((2, 3)) > 0.5,
        "complex64": numpy.array([1 + 2j, -3j], numpy.complex64),
        "scalar": numpy.array(2.5, numpy.float32),
        "empty": numpy.zeros((0, 3), numpy.int32),
    }
    numpy.savez(FOLDER / "arrays.npz", **arrays)
    numpy.savez_compressed(FOLDER / "arrays_compressed.npz", **arrays)
    safetensors = {
        name: torch.from_numpy(numpy.array(array, order="C")) for name, array in arrays.items()
    }
    save_file(safetensors, FOLDER / "arrays.safetensors")


def main():
    if not sys.argv[1:]:
        write_arrays()
    names = sys.argv[1:] or list(CASES)
    unknown = sorted(set(names) - set(CASES))
    if unknown:
        raise SystemExit(f"no such model: {', '.join(unknown)}; there are {', '.join(CASES)}")
    for name in names:
        write(name)


if __name__ == "__main__":
    main()
