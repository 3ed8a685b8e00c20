"""Makes the model files of the tests of src/pt2: each holds a corner of what the exporter writes.

    python tests/data/make_reader_files.py [NAME ...]

writes reader/NAME.pt2 beside this file, for all or for those named. Weights whose elements a test
looks at count upwards: element i of a tensor is i, in memory order of its storage.
"""

import collections
import sys

import torch
from make_models import FOLDER, shorten_sources
from torch import nn
from torch.export import Dim

READER = FOLDER / "reader"
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def counting(*sizes, dtype=torch.float32):
    count = 1
    for size in sizes:
        count *= size
    return torch.arange(count).to(dtype).reshape(sizes)


def export(model, *args, kwargs=None, core=False, **options):
    with torch.no_grad():
        program = torch.export.export(model.eval(), args, kwargs, **options)
        if core:
            program = program.run_decompositions()
    return shortened(program)


def shortened(program):
    """Without the paths of the machine that made it."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            shorten_sources(module, keep=True)
    return program


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.proj(x))


class Nested(nn.Module):
    """Modules in modules, one of them called twice."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.layers[0](x) + 1


@case
def nested_strict():
    return export(Nested(), torch.randn(2, 4), strict=True)


@case
def nested():
    return export(Nested(), torch.randn(2, 4), strict=False)


@case
def sizes():
    """Sizes that depend on one another, arithmetic on them, and an integer input."""

    class Sizes(nn.Module):
        def forward(self, x, doubled, longer, count):
            rows = x.shape[0]
            halves = x.view(rows // 2, 2, 3)
            wide = torch.zeros(2 * rows + 1, count)
            padded = doubled.view(2, rows) + longer[1:]
            return halves, wide, padded, rows * rows - 1

    return export(
        Sizes(),
        torch.randn(8, 3),
        torch.randn(16),
        torch.randn(9),
        5,
        dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}, {0: Dim.AUTO}, Dim.DYNAMIC),
    )


@case
def bounded():
    """Ranges: exact, open, and from 2 on, which means from 0 on."""

    class Bounded(nn.Module):
        def forward(self, x, y):
            return x + 1, torch.cat([y, y])

    batch = Dim("batch", min=3, max=64)
    return export(
        Bounded(),
        torch.randn(8, 5),
        torch.randn(7),
        dynamic_shapes=({0: batch, 1: Dim("length", max=100)}, {0: Dim.DYNAMIC}),
    )


@case
def data_dependent():
    """Sizes that only running the model can tell, and floats computed from sizes."""

    class DataDependent(nn.Module):
        def forward(self, x, index):
            count = index.item()
            torch._check(count >= 2)
            torch._check(count < 10)
            made = torch.zeros(count * 2)
            found = torch.nonzero(x)
            scaled = x / x.shape[0] ** 0.5
            larger = nn.functional.interpolate(x[None, None], scale_factor=1.5)
            return made, found, scaled, larger

    return export(
        DataDependent(), torch.randn(6, 4), torch.tensor(4), dynamic_shapes=({0: Dim.DYNAMIC}, None)
    )


@case
def weights():
    """Tied, transposed, expanded and sliced weights; buffers, constants; every element type."""

    class Weights(nn.Module):
        def __init__(self):
            super().__init__()
            storage = counting(6, 4)
            self.tied = nn.Parameter(storage)
            self.tied_again = self.tied
            self.register_buffer("transposed", storage.t())
            self.register_buffer("expanded", counting(3)[:, None].expand(3, 4))
            self.register_buffer("sliced", counting(40)[8:20:3])
            self.register_buffer("temporary", counting(2), persistent=False)
            self.register_buffer("scalar", torch.tensor(7, dtype=torch.int64))
            self.register_buffer("empty", torch.zeros(0, 3))
            for name in (
                "uint8 int8 int16 int32 float16 bfloat16 float64 complex64 uint16 float8_e4m3fn"
            ).split():
                self.register_buffer(f"of_{name}", counting(3, dtype=getattr(torch, name)))
            self.register_buffer("of_bool", torch.tensor([True, False, True]))

        def forward(self, x):
            total = x + self.tied.sum() + self.tied_again.sum() + self.transposed.sum()
            total = total + self.expanded.sum() + self.sliced.sum() + self.temporary.sum()
            total = total + self.scalar + self.empty.sum() + torch.tensor([1.0, 2.0, 3.0])
            total = (
                total
                + self.of_uint8
                + self.of_int8
                + self.of_int16
                + self.of_int32
                + self.of_float16.float()
            )
            total = total + self.of_bfloat16.float() + self.of_float64.float() + self.of_bool
            others = (
                self.of_uint16.to(torch.int32),
                self.of_float8_e4m3fn.float(),
                self.of_complex64 + 1,
            )
            return total, *others

    return export(Weights(), torch.randn(3))


@case
def mutations():
    class Mutations(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

        def forward(self, x, states):
            self.calls.add_(1)
            states["inner"].mul_(2)
            return x + self.calls

    return export(Mutations(), torch.randn(2), {"inner": torch.randn(2)}, core=True)


Pair = collections.namedtuple("Pair", ["left", "right"])
torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="reader.Pair")


@case
def signature():
    """Arguments and results in every container; constants among them."""

    class Signature(nn.Module):
        def forward(self, first, pair, *rest, options, mode="sum", scale=None):
            result = first + pair.left * pair.right + rest[0] + rest[1][0] * options["weights"]["w"]
            if mode == "mean":
                result = result / options["count"]
            return {
                "result": result,
                "pair": Pair(first * 2, None),
                "all": [result, (first, 3)],
                "ordered": collections.OrderedDict(z=first + 1, a=True),
            }

    return export(
        Signature(),
        torch.randn(2),
        Pair(torch.randn(2), 0.5),
        torch.randn(2),
        [torch.randn(2)],
        kwargs={
            "options": {"weights": {"w": torch.randn(2)}, "count": 4},
            "mode": "mean",
            "scale": None,
        },
    )


@case
def lists():
    """Ops with lists of tensors, and with several results, some of them unused."""

    class Lists(nn.Module):
        def forward(self, x):
            first, *_, last = torch.split(x, [1, 2, 3])
            rows = torch.unbind(x, 1)
            values, indices = x.max(dim=0)
            picked = x[torch.tensor([0, 2]), :, None]
            return [first, last, rows[1], *x.chunk(2), torch.stack(rows), indices, picked]

    return export(Lists(), torch.randn(6, 3))


@case
def opaque():
    """Ops that no catalogue knows, with every kind of argument; a higher-order op."""

    library = torch.library.Library("reader_test", "DEF")
    library.define(
        "mix(Tensor x, Tensor?[] optional, int[] sizes, float scale, bool flag, str mode, *, "
        "ScalarType dtype, Device? device=None, float[] factors, bool[] flags, str[] names, "
        "MemoryFormat? memory_format=None, Layout? layout=None) -> (Tensor, Tensor[])"
    )

    def mix(x, *args, dtype, **kwargs):
        return x.to(dtype), [x.clone(), x[:1].clone()]

    library.impl("mix", mix, "CompositeExplicitAutograd")

    class Opaque(nn.Module):
        def forward(self, x):
            y, (z, _) = torch.ops.reader_test.mix(
                x,
                [None, x],
                [1, 2],
                float("inf"),
                True,
                "mode",
                dtype=torch.float64,
                device=torch.device("cpu"),
                factors=[0.5, float("-inf"), float("nan")],
                flags=[True, False],
                names=["a", "b"],
                memory_format=torch.contiguous_format,
                layout=torch.strided,
            )
            branch = torch.cond(x.sum() > 0, lambda a: (a + 1,), lambda a: (a - 1,), (z,))
            return y, branch[0], torch.mul(x, 1 + 2j)

    return export(Opaque(), torch.randn(3, 2))


@case
def regions():
    """Parts that run without gradients, and with autocast off, on, and off within on. The inputs
    have a symbolic size, which one region reads."""

    class Regions(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x + 1
            with torch.autocast("cpu", enabled=False):
                z = y * x.size(0)
                w = torch.relu(z)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                v = w @ w
            return v, z

    with torch.enable_grad():
        program = torch.export.export(
            Regions().eval(), (torch.randn(3, 3),), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},)
        )
    return shortened(program)


@case
def several():
    class Twice(nn.Module):
        def forward(self, x):
            return x * 2

    class Thrice(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torch.tensor(3.0))

        def forward(self, x):
            return x * self.factor

    return {"twice": export(Twice(), torch.randn(2)), "thrice": export(Thrice(), torch.randn(2))}


def main():
    READER.mkdir(exist_ok=True)
    names = sys.argv[1:] or list(CASES)
    unknown = sorted(set(names) - set(CASES))
    if unknown:
        raise SystemExit(f"no such file: {', '.join(unknown)}; there are {', '.join(CASES)}")
    for name in names:
        torch.manual_seed(0)
        program = CASES[name]()
        path = READER / f"{name}.pt2"
        if isinstance(program, dict):
            from torch.export.pt2_archive._package import package_pt2

            package_pt2(path, exported_programs=program)
        else:
            torch.export.save(program, path)
        print(f"{name}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
