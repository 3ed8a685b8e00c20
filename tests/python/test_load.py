"""unfuse.load: exported programs with torch tensors, with NumPy arrays, without torch."""

import collections
import concurrent.futures
import dataclasses
import json
import subprocess
import sys

import models
import numpy as np
import op_samples
import pytest
import torch
import unfuse
from compiling import assert_close
from torch import nn
from torch.utils import _pytree


def _save(model, args, path, kwargs=None, **options):
    torch.export.save(torch.export.export(model, args, kwargs, **options), path)
    return path


@pytest.fixture
def linear(tmp_path):
    """(model, path, input)"""
    model, x = nn.Sequential(nn.Linear(4, 8), nn.GELU()).eval(), torch.randn(3, 4)
    return model, _save(model, (x,), tmp_path / "linear.pt2"), x


def test_torch_in_torch_out(linear):
    model, path, x = linear
    result = unfuse.load(path)(x)
    assert isinstance(result, torch.Tensor)
    assert_close(result, model(x))
    assert_close(unfuse.load(str(path))(torch.randn(4, 3).t().copy_(x)), model(x))


def test_printed_a_program_shows_what_it_takes_and_returns(linear, tmp_path):
    _, path, _ = linear
    assert repr(unfuse.load(path)) == "unfuse.Program(input: float32[3, 4]) -> float32[3, 8]"

    class Named(nn.Module):
        def forward(self, x, mask):
            return {"logits": x + 1, "rest": (mask, None, [x.long()])}

    path = _save(Named(), (torch.randn(2, 3), torch.ones(3, dtype=torch.bool)), tmp_path / "n.pt2")
    assert repr(unfuse.load(path)) == (
        "unfuse.Program(x: float32[2, 3], mask: bool[3]) -> "
        "logits: float32[2, 3], rest[0]: bool[3], rest[2][0]: int64[2, 3]"
    )


def test_numpy_in_numpy_out(linear):
    model, path, x = linear
    program = unfuse.load(path)
    result = program(x.numpy())
    assert isinstance(result, np.ndarray)
    np.testing.assert_allclose(result, model(x).numpy(), rtol=1e-5, atol=1e-6)
    reversed_rows = x.numpy()[::-1]
    np.testing.assert_allclose(
        program(reversed_rows), model(x.flip(0)).numpy(), rtol=1e-5, atol=1e-6
    )
    result += 1  # It is the caller's own.


def test_without_torch(linear, tmp_path):
    model, path, x = linear
    np.save(tmp_path / "x.npy", x.numpy())
    script = f"""
import sys
sys.modules["torch"] = None                       # import torch fails
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
import numpy as np, unfuse
run = unfuse.load({str(path)!r})
np.save({str(tmp_path / "y.npy")!r}, run(np.load({str(tmp_path / "x.npy")!r})))
assert sys.modules["torch"] is None
try:
    unfuse.explain(None)
except unfuse.Error as error:
    assert "PyTorch" in str(error)
else:
    raise AssertionError
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    expected = model(x).numpy()
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_sixteen_bits(dtype, tmp_path):
    model, x = nn.Linear(4, 4).to(dtype), torch.randn(2, 4, dtype=dtype)
    program = unfuse.load(_save(model, (x,), tmp_path / "m.pt2"))
    result = program(x)
    assert result.dtype == dtype
    assert_close(result, model(x))
    if dtype == torch.float16:
        assert program(x.numpy()).dtype == np.float16


def test_brain_floats_and_numpy(tmp_path):
    class ToBrainFloat(nn.Module):
        def forward(self, x):
            return (x + 1).to(torch.bfloat16)

    x = torch.randn(3)
    program = unfuse.load(_save(ToBrainFloat(), (x,), tmp_path / "m.pt2"))
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(unfuse.Error, match="ml_dtypes"):
            program(x.numpy())
    else:
        assert program(x.numpy()).dtype == ml_dtypes.bfloat16


Point = collections.namedtuple("Point", ["x", "y"])
_pytree._register_namedtuple(Point, serialized_type_name="test_load.Point")


class Structured(nn.Module):
    def forward(self, first, pair, *, table, scale=2, flag=None):
        a, b = pair
        total = first + a * b + table["x"] - table["y"][0]
        return {
            "list": [total, total * scale],
            "ordered": collections.OrderedDict(z=total - 1, a=(total,)),
            "point": Point(total + 1, first),
            "none": None,
            "number": 3,
        }


def structured_arguments():
    a, b, c, d, e = (torch.randn(2, 3) for _ in range(5))
    return (a, [b, c]), {"table": {"x": d, "y": (e,)}, "scale": 3, "flag": None}


def test_call_signature(tmp_path):
    args, kwargs = structured_arguments()
    program = unfuse.load(_save(Structured(), args, tmp_path / "m.pt2", kwargs))
    expected = Structured()(*args, **kwargs)
    result = program(*args, **kwargs)
    assert list(result) == list(expected)
    assert isinstance(result["list"], list)
    assert isinstance(result["ordered"], collections.OrderedDict)
    assert list(result["ordered"]) == ["z", "a"]
    assert type(result["point"]).__name__ == "Point"
    assert result["none"] is None and result["number"] == 3
    assert_close(result["list"][1], expected["list"][1])
    assert_close(result["ordered"]["a"][0], expected["ordered"]["a"][0])
    assert_close(result["point"].x, expected["point"].x)
    # Other orders and names of the same arguments.
    named = program(args[0], pair=args[1], flag=None, scale=3, table=kwargs["table"])
    assert_close(named["list"][0], expected["list"][0])


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda args, kwargs: (args[:1], kwargs), ["missing", "pair"]),
        (lambda args, kwargs: ((*args, args[0]), kwargs), ["positional"]),
        (lambda args, kwargs: (args, {**kwargs, "other": 1}), ["unknown", "other"]),
        (lambda args, kwargs: (args, {**kwargs, "scale": 4}), ["scale", "3", "4"]),
        (lambda args, kwargs: ((args[0], args[1][:1]), kwargs), ["list of 2"]),
        (lambda args, kwargs: (args, {**kwargs, "table": {"x": args[0]}}), ["dict of"]),
        (lambda args, kwargs: ((1.5, args[1]), kwargs), ["expected a tensor", "first"]),
        (lambda args, kwargs: ((args[0].double(), args[1]), kwargs), ["first", "float64"]),
        (lambda args, kwargs: ((args[0][:, :2], args[1]), kwargs), ["first", "size"]),
        (lambda args, kwargs: ((args[0][0], args[1]), kwargs), ["first"]),
    ],
)
def test_wrong_calls(change, words, tmp_path):
    args, kwargs = structured_arguments()
    program = unfuse.load(_save(Structured(), args, tmp_path / "m.pt2", kwargs))
    args, kwargs = change(args, kwargs)
    with pytest.raises(unfuse.Error) as raised:
        program(*args, **kwargs)
    assert raised.value.kind == "invalid_argument"
    for word in words:
        assert word in str(raised.value)


def test_container_of_the_models_own(tmp_path):
    class Box:
        def __init__(self, tensor):
            self.tensor = tensor

    _pytree.register_pytree_node(
        Box,
        lambda box: ([box.tensor], None),
        lambda children, _: Box(*children),
        serialized_type_name="test_load.Box",
    )

    class Boxed(nn.Module):
        def forward(self, x):
            return Box(x + 1)

    path = _save(Boxed(), (torch.randn(2),), tmp_path / "m.pt2")
    with pytest.raises(unfuse.Error, match="test_load.Box"):
        unfuse.load(path)


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor | None = None
    third: torch.Tensor | None = None


torch.export.register_dataclass(Pair, serialized_type_name="test_load.Pair")


class Output(collections.OrderedDict):
    """As the ModelOutput of transformers: the file holds the names of its fields."""


_pytree.register_pytree_node(
    Output,
    lambda output: (list(output.values()), list(output)),
    lambda values, names: Output(zip(names, values)),
    serialized_type_name="test_load.Output",
    to_dumpable_context=json.dumps,
    from_dumpable_context=json.loads,
)


class Fields(nn.Module):
    def forward(self, pair, scale):
        total = pair.first + pair.third * scale
        return Output(total=total, pair=Pair(total * 2, None, pair.first + 1))


def test_classes_whose_fields_the_file_names(tmp_path):
    pair, scale = Pair(torch.randn(2), None, torch.randn(2)), torch.randn(2)
    program = unfuse.load(_save(Fields(), (pair, scale), tmp_path / "m.pt2"))
    expected = Fields()(pair, scale)
    for given in (pair, {"first": pair.first, "third": pair.third}):
        result = program(given, scale)
        assert list(result) == ["total", "pair"]
        assert_close(result["total"], expected["total"])
        assert_close(result.pair.first, expected["pair"].first)
        assert_close(result.pair.third, expected["pair"].third)
        assert result.pair.second is None
    with pytest.raises(AttributeError, match="'last'.*total"):
        _ = result.last
    for wrong, words in [(scale, "test_load.Pair"), ({"first": scale}, "third")]:
        with pytest.raises(unfuse.Error, match=words):
            program(wrong, scale)


def test_symbolic_sizes(tmp_path):
    model = models.encoder(1, 32, 2, 64)
    length = torch.export.Dim("length", min=2, max=64)
    path = _save(model, (torch.randn(2, 8, 32),), tmp_path / "m.pt2", dynamic_shapes=({1: length},))
    program = unfuse.load(path)
    for size in (2, 17, 64):
        x = torch.randn(2, size, 32)
        assert_close(program(x), model(x))
    with pytest.raises(unfuse.Error, match="65"):
        program(torch.randn(2, 65, 32))


class Accumulate(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total.add_(x)
        x.mul_(2)
        return self.total + 0


def test_mutations(tmp_path):
    program = unfuse.load(_save(Accumulate(), (torch.randn(3),), tmp_path / "m.pt2"))
    eager = Accumulate()
    for _ in range(3):
        x = torch.randn(3)
        other = x.clone()
        assert_close(program(x), eager(other))
        assert_close(x, other)


def test_mutations_of_what_cannot_be_written(tmp_path):
    program = unfuse.load(_save(Accumulate(), (torch.randn(3),), tmp_path / "m.pt2"))
    x = np.ones(3, np.float32)
    program(x)
    np.testing.assert_array_equal(x, [2, 2, 2])
    x.flags.writeable = False
    for array in (x, np.ones(3, np.float32)[::-1]):
        with pytest.raises(unfuse.Error, match="writes to this tensor") as raised:
            program(array)
        assert raised.value.where == "argument x"


def test_symbolic_int(tmp_path):
    class Scaled(nn.Module):
        def forward(self, x, n):
            return x.expand(n, 3) * n

    size = torch.export.Dim.DYNAMIC
    path = _save(Scaled(), (torch.randn(1, 3), 4), tmp_path / "m.pt2", dynamic_shapes=(None, size))
    program, x = unfuse.load(path), torch.randn(1, 3)
    for n in (2, 5):
        assert_close(program(x, n), x.expand(n, 3) * n)
    with pytest.raises(unfuse.Error, match="expected an int"):
        program(x, 2.5)


def test_many_threads(tmp_path):
    model = models.encoder(2, 32, 2, 64)
    length = torch.export.Dim("length", min=2, max=64)
    path = _save(model, (torch.randn(2, 8, 32),), tmp_path / "m.pt2", dynamic_shapes=({1: length},))
    program = unfuse.load(path)
    inputs = [torch.randn(2, 2 + seed % 5, 32) for seed in range(40)]
    expected = [model(x) for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(program, inputs))
    for mine, theirs in zip(results, expected, strict=True):
        assert_close(mine, theirs)


def test_fully_masked_rows(tmp_path):
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x, padding = torch.randn(2, 4, 16), torch.zeros(2, 4, dtype=torch.bool)
    padding[1] = True
    path = _save(layer, (x,), tmp_path / "m.pt2", {"src_key_padding_mask": padding}, strict=True)
    assert_close(
        unfuse.load(path)(x, src_key_padding_mask=padding), layer(x, src_key_padding_mask=padding)
    )
    zero = unfuse.load(path, fully_masked_rows="zero")
    assert not zero(x, src_key_padding_mask=padding).isnan().any()
    with pytest.raises(unfuse.Error, match="fully_masked_rows"):
        unfuse.load(path, fully_masked_rows="nan")


def test_damaged_files(linear, tmp_path):
    _, path, _ = linear
    data = path.read_bytes()
    for name, content in {"cut": data[: len(data) // 2], "text": b"hello", "empty": b""}.items():
        broken = tmp_path / f"{name}.pt2"
        broken.write_bytes(content)
        with pytest.raises(unfuse.Error) as raised:
            unfuse.load(broken)
        assert raised.value.kind == "invalid_file"
        assert f"{name}.pt2" in str(raised.value)


def test_one_of_several_models():
    path = op_samples.REPOSITORY / "tests/data/reader/several.pt2"
    x = np.ones(2, np.float32)
    for model, factor in {"twice": 2, "thrice": 3}.items():
        assert unfuse.load(path, model=model)(x).tolist() == [factor, factor]
    with pytest.raises(unfuse.Error, match="holds several models: 'thrice', 'twice'"):
        unfuse.load(path)
    with pytest.raises(unfuse.Error, match="holds no model 'once'"):
        unfuse.load(path, model="once")
    with pytest.raises(unfuse.Error, match="model cannot be 2"):
        unfuse.load(path, model=2)


def test_unsupported_op_is_named(tmp_path):
    class Spectrum(nn.Module):
        def forward(self, x):
            return torch.fft.rfft(x).abs()

    path = _save(Spectrum(), (torch.randn(4),), tmp_path / "m.pt2")
    with pytest.raises(unfuse.Error, match="fft") as raised:
        unfuse.load(path)
    assert raised.value.kind == "unsupported"


class Transposed(nn.Module):
    def forward(self, x):
        return x.permute(1, 0, 2).relu() + 1, x.reshape(x.shape[0], -1)


def test_inputs_exported_as_views(tmp_path):
    """Their strides and offset get symbols of their own, which say nothing of other inputs."""
    automatic = (dict.fromkeys(range(3), torch.export.Dim.AUTO),)
    view = torch.randn(6, 10, 9)[1:, ::3, 1:5]
    program = unfuse.load(
        _save(Transposed(), (view,), tmp_path / "m.pt2", dynamic_shapes=automatic)
    )
    for x in (view, torch.randn(3, 4, 5), torch.randn(9, 7, 8)[2:5, 1::2, 2:5]):
        for result, expected in zip(program(x), Transposed()(x), strict=True):
            assert torch.equal(result, expected)


def test_sizes_of_elements_are_no_damage(tmp_path):
    class Select(nn.Module):
        def forward(self, x, mask):
            return x[mask]

    path = _save(Select(), (torch.randn(4), torch.tensor([True, False] * 2)), tmp_path / "m.pt2")
    with pytest.raises(unfuse.Error, match="depend on data") as raised:
        unfuse.load(path)
    assert raised.value.kind == "unsupported"


def test_exported_under_autocast(tmp_path):
    model, x = nn.Sequential(nn.Linear(4, 4)).eval(), torch.randn(3, 4)
    with torch.autocast("cpu", torch.bfloat16):
        program = torch.export.export(model, (x,), strict=False)
    assert program.module()(x).dtype == torch.float32  # not what was recorded
    torch.export.save(program, tmp_path / "m.pt2")
    with pytest.raises(unfuse.Error, match="autocast, move that into its forward"):
        unfuse.load(tmp_path / "m.pt2")

    class Autocast(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                return self.model(x)

    program = torch.export.export(Autocast(), (x,)).run_decompositions()
    torch.export.save(program, tmp_path / "m.pt2")
    assert_close(unfuse.load(tmp_path / "m.pt2")(x), Autocast()(x))


def test_tensors_that_are_not_dense(linear):
    _, path, x = linear
    for given, words in [(x.to_sparse(), "sparse"), (torch.nested.nested_tensor([x, x]), "nested")]:
        with pytest.raises(unfuse.Error, match=words):
            unfuse.load(path)(given)


def test_falling_numbers_of_a_symbolic_size(tmp_path):
    class Falling(nn.Module):
        def forward(self, x):
            return x + torch.arange(x.shape[0], 0, -1)

    path = _save(
        Falling(),
        (torch.randn(4),),
        tmp_path / "m.pt2",
        dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
    )
    x = torch.randn(7)
    torch.testing.assert_close(unfuse.load(path)(x), Falling()(x))


def test_version():
    assert unfuse.__version__.count(".") == 2
