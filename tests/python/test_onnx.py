"""ONNX files: every test model, checked by onnx, run by ONNX Runtime, compared with torch."""

import pathlib

import models
import numpy as np
import onnx
import onnx_running
import pytest
import torch
import unfuse
from command import unfuse as command
from compiling import assert_close
from onnx_running import NEWEST, OPSETS, compare, export, exported, run
from safetensors.torch import load_file
from torch import nn
from torch.export import Dim

DATA = pathlib.Path(__file__).parents[1] / "data"
MODELS = sorted(path.stem for path in DATA.glob("*.pt2"))
#: Holds an op that ONNX has no form of.
REFUSED = {"left_to_torch"}
LAYER = "aten._transformer_encoder_layer_fwd.default"


def op_types(path):
    return [node.op_type for node in onnx.load(path, load_external_data=False).graph.node]


# --- The models of tests/data


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", [name for name in MODELS if name not in REFUSED])
def test_model(name, opset, tmp_path):
    runtime = export(DATA / f"{name}.pt2", tmp_path / "model.onnx", opset)
    inputs = load_file(DATA / f"{name}.inputs.safetensors")
    expected = load_file(DATA / f"{name}.outputs.safetensors")
    given = {key: value for key, value in inputs.items() if key in runtime.inputs}
    got = runtime(given)
    for key, value in expected.items():
        assert_close(got[key], value)
    written = DATA / f"{name}.written.safetensors"
    if written.exists():
        for key, value in load_file(written).items():
            assert_close(got[f"{key}.updated"], value)


def test_what_has_no_form_is_named_and_nothing_is_written(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    with pytest.raises(unfuse.Error) as raised:
        unfuse.export_onnx(DATA / "left_to_torch.pt2", path)
    assert raised.value.kind == "unsupported"
    assert "aten.fft_rfft.default" in str(raised.value)
    assert "make_models.py:" in str(raised.value)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# --- The command


def test_an_encoder_from_one_command(tmp_path):
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(10, 32, 512)
    torch.export.save(exported(model, (x,), strict=True), tmp_path / "model.pt2")
    ran = command("export", tmp_path / "model.pt2", "-o", tmp_path / "model.onnx")
    assert ran.returncode == 0, ran.stderr
    assert f"opened 2 {LAYER}" in ran.stdout
    onnx_running.check(tmp_path / "model.onnx")
    compare(onnx_running.Runtime(tmp_path / "model.onnx"), model, (x,))


def test_the_command_refuses(tmp_path):
    path = tmp_path / "model.onnx"
    ran = command("export", DATA / "left_to_torch.pt2", "-o", path)
    assert ran.returncode == 4
    assert "aten.fft_rfft.default" in ran.stderr
    for opset in ("16", str(NEWEST + 1), "latest"):
        ran = command("export", DATA / "vit.pt2", "-o", path, "--opset", opset)
        assert ran.returncode == 2, ran.stderr
    places = {tmp_path / "missing" / "model.onnx": "no folder", tmp_path: "a folder", "": "no file"}
    for place, words in places.items():
        ran = command("export", DATA / "vit.pt2", "-o", place)
        assert ran.returncode == 2 and words in ran.stderr, ran.stderr
    assert not path.exists()
    ran = command("export", DATA / "vit.pt2", "-o", path, "--opset", "newest", "--strict")
    assert ran.returncode == 0, ran.stderr
    assert onnx.load(path).opset_import[0].version == NEWEST


def test_the_model_itself_is_not_replaced(tmp_path):
    model = tmp_path / "model.pt2"
    model.write_bytes((DATA / "encoder_layer.pt2").read_bytes())
    link = tmp_path / "link.onnx"
    link.symlink_to(model)
    for output in (model, link):
        ran = command("export", model, "-o", output)
        assert ran.returncode == 2 and "is the model that is exported" in ran.stderr, ran.stderr
        with pytest.raises(unfuse.Error, match="is the model that is exported"):
            unfuse.export_onnx(model, output)
    assert model.read_bytes() == (DATA / "encoder_layer.pt2").read_bytes()


@pytest.mark.parametrize("function", [unfuse.decompose, lambda x: unfuse.export_onnx(x, "x.onnx")])
@pytest.mark.parametrize("given", [nn.Linear(2, 2), None, 3])
def test_what_is_no_exported_program(function, given):
    with pytest.raises(unfuse.Error, match=f"ExportedProgram.*not {type(given).__name__}.*export"):
        function(given)


def test_the_newest_opset_is_onnxs_own():
    """Where onnx knows a newer one, see what changed with it, and raise kNewestOpset."""
    assert onnx.defs.onnx_opset_version() <= NEWEST


# --- Sizes that may vary


@pytest.mark.parametrize("opset", [17, NEWEST])
def test_encoder_of_other_sizes(opset, tmp_path):
    model = models.encoder(2, 64, 4, 128, enable_nested_tensor=False)
    sizes = {0: Dim("batch", min=1, max=64), 1: Dim("length", max=512)}
    program = exported(model, (torch.randn(2, 5, 64),), strict=True, dynamic_shapes={"src": sizes})
    runtime = export(program, tmp_path / "model.onnx", opset)
    for shape in [(2, 5, 64), (1, 1, 64), (3, 77, 64)]:
        compare(runtime, model, (torch.randn(shape),))


@pytest.mark.parametrize("opset", [17, NEWEST])
def test_padded_encoder_of_other_sizes(opset, tmp_path):
    program = torch.export.load(DATA / "encoder_slow_path.pt2")
    runtime = export(DATA / "encoder_slow_path.pt2", tmp_path / "model.onnx", opset)
    for batch, length in [(1, 3), (4, 9)]:
        mask = torch.zeros(batch, length, dtype=torch.bool)
        mask[-1, 2:] = True
        compare(runtime, program.module(), (torch.randn(batch, length, 16), mask))


@pytest.mark.parametrize("opset", [17, NEWEST])
def test_bert_of_other_sizes(opset, tmp_path):
    program = torch.export.load(DATA / "bert.pt2")
    runtime = export(DATA / "bert.pt2", tmp_path / "model.onnx", opset)
    for batch, length in [(1, 4), (5, 32)]:
        ids = torch.randint(1, 50, (batch, length))
        ids[0, 3:] = 0
        inputs = {
            "input_ids": ids,
            "attention_mask": (ids != 0).long(),
            "token_type_ids": torch.zeros_like(ids),
        }
        got = runtime(inputs)
        for left, right in zip(got.values(), program.module()(**inputs).values(), strict=True):
            assert_close(left, right)


@pytest.mark.parametrize("opset", [17, NEWEST])
def test_arithmetic_of_other_sizes(opset, tmp_path):
    program = torch.export.load(DATA / "arithmetic.pt2")
    runtime = export(DATA / "arithmetic.pt2", tmp_path / "model.onnx", opset)
    for rows in (2, 9):
        x, ids = torch.randn(rows, 6), torch.randint(0, 6, (rows, 3))
        compare(runtime, program.module(), (x, ids, torch.rand(rows, 6) > 0.3))


def test_sizes_have_the_names_of_their_symbols(tmp_path):
    export(DATA / "encoder_dynamic.pt2", tmp_path / "model.onnx", 20)
    model = onnx.load(tmp_path / "model.onnx")
    (source,) = model.graph.input
    names = [dim.dim_param for dim in source.type.tensor_type.shape.dim]
    assert all(names[:2]) and names[0] != names[1]
    (result,) = model.graph.output
    assert [dim.dim_param for dim in result.type.tensor_type.shape.dim] == names


class Sizes(nn.Module):
    """Arithmetic on sizes of every kind."""

    def forward(self, x, y):
        rows, columns = x.shape
        a = torch.arange(rows * columns + y.shape[0] // 3 - 1)
        b = x.new_full((max(rows, y.shape[0]) % 7 + 2,), rows)
        c = x.reshape(-1)[: (rows * columns) // 2]
        return a, b, c, x.repeat(2, 3), y.expand(rows, y.shape[0])


@pytest.mark.parametrize("opset", [17, NEWEST])
def test_sizes_are_computed(opset, tmp_path):
    shapes = {"x": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}}
    program = exported(Sizes(), (torch.randn(4, 6), torch.randn(5)), dynamic_shapes=shapes)
    runtime = export(program, tmp_path / "model.onnx", opset)
    for rows, columns, others in [(4, 6, 5), (7, 3, 12), (2, 2, 3)]:
        compare(runtime, Sizes(), (torch.randn(rows, columns), torch.randn(others)))


# --- Whole models, types, attention


@pytest.mark.parametrize("opset", [17, NEWEST])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_types(dtype, opset, tmp_path):
    model = models.encoder(2, 64, 4, 128, activation="gelu", dtype=dtype)
    x = torch.randn(2, 9, 64).to(dtype)
    compare(export(exported(model, (x,), strict=True), tmp_path / "m.onnx", opset), model, (x,))


@pytest.mark.parametrize("opset", [17, NEWEST])
def test_vision_transformer(opset, tmp_path):
    model = models.vision_transformer(32, 8, 2, 4, 64, 128, 10)
    shapes = ({0: Dim.DYNAMIC},)
    program = exported(model, (torch.randn(2, 3, 32, 32),), dynamic_shapes=shapes)
    runtime = export(program, tmp_path / "model.onnx", opset)
    for batch in (2, 5):
        compare(runtime, model, (torch.randn(batch, 3, 32, 32),))


@pytest.mark.parametrize("opset", [17, NEWEST])
def test_bert_like(opset, tmp_path):
    model = models.bert_like(layers=2)
    ids, mask = torch.randint(1, 1000, (2, 12)), torch.ones(2, 12, dtype=torch.int64)
    sizes = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
    program = exported(model, (ids, mask), dynamic_shapes=(sizes, sizes))
    runtime = export(program, tmp_path / "model.onnx", opset)
    mask = torch.ones(3, 20, dtype=torch.int64)
    mask[1, 5:] = 0
    compare(runtime, model, (torch.randint(1, 1000, (3, 20)), mask))


class Attention(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, query, key, value, mask=None):
        return nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, **self.options
        )


def masks(queries, keys):
    rows = torch.rand(queries, keys) > 0.4
    rows[1] = False
    bias = torch.randn(3, 1, queries, keys)
    bias[0, :, 2] = float("-inf")
    one_key = torch.ones(queries, 1, dtype=torch.bool)
    one_key[3] = False
    return {
        "none": None,
        "bool": rows,
        "heads": (torch.rand(3, 4, queries, keys) > 0.5),
        "float": bias,
        "narrow": one_key,
        "keys": torch.tensor([[True] * (keys - 1) + [False]]),
    }


@pytest.mark.parametrize("opset", [17, 23, NEWEST])
@pytest.mark.parametrize("form", masks(6, 5))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_attention(form, dtype, opset, tmp_path):
    mask = masks(6, 5)[form]
    if mask is not None and mask.is_floating_point():
        mask = mask.to(dtype)
    query, key, value = (torch.randn(3, 4, n, 8).to(dtype) for n in (6, 5, 5))
    model = Attention(scale=0.4)
    args = (query, key, value) + (() if mask is None else (mask,))
    runtime = export(exported(model, args), tmp_path / "model.onnx", opset)
    compare(runtime, model, args)
    assert ("Attention" in op_types(tmp_path / "model.onnx")) == (opset >= 23)


@pytest.mark.parametrize("opset", [17, 23, NEWEST])
@pytest.mark.parametrize("rank", [2, 3, 4, 5])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_ranks(rank, causal, opset, tmp_path):
    lead = (2, 3, 2)[: rank - 2]
    query, key, value = (torch.randn(*lead, n, 8) for n in (6, 4, 4))
    model = Attention(is_causal=causal)
    runtime = export(exported(model, (query, key, value)), tmp_path / "model.onnx", opset)
    compare(runtime, model, (query, key, value))


@pytest.mark.parametrize("opset", [17, 23, NEWEST])
def test_attention_of_grouped_heads(opset, tmp_path):
    query, key, value = torch.randn(2, 6, 5, 8), torch.randn(2, 2, 7, 8), torch.randn(2, 2, 7, 8)
    model = Attention(enable_gqa=True)
    runtime = export(exported(model, (query, key, value)), tmp_path / "model.onnx", opset)
    compare(runtime, model, (query, key, value))


@pytest.mark.parametrize("opset", [17, 23, NEWEST])
@pytest.mark.parametrize("rows", ["op", "zero"])
def test_fully_masked_rows(rows, opset, tmp_path):
    """The fused op gives NaN where all keys are masked; on request, zeros."""
    path = tmp_path / "model.onnx"
    source = DATA / "attention_op_fully_masked.pt2"
    unfuse.export_onnx(source, path, opset=opset, fully_masked_rows=rows)
    inputs = load_file(DATA / "attention_op_fully_masked.inputs.safetensors")
    (result,) = list(onnx_running.Runtime(path)(inputs).values())[:1]
    assert result[1].isnan().all() == (rows == "op")
    assert_close(result, unfuse.load(source, fully_masked_rows=rows)(**inputs)[0])


# --- The file


def test_names_and_places(tmp_path):
    export(DATA / "encoder_layer.pt2", tmp_path / "new.onnx", 21)
    model = onnx.load(tmp_path / "new.onnx")
    assert model.producer_name == "unfuse"
    assert [value.name for value in model.graph.input] == ["src"]
    names = {tensor.name for tensor in model.graph.initializer}
    assert {"linear1.weight", "norm2.bias", "self_attn.in_proj_weight"} <= names
    weight = next(t for t in model.graph.initializer if t.name == "linear1.weight")
    want = torch.export.load(DATA / "encoder_layer.pt2").state_dict["linear1.weight"]
    assert np.array_equal(onnx.numpy_helper.to_array(weight), want.numpy())


def node_metadata(path, key):
    nodes = onnx.load(path).graph.node
    return {entry.value for node in nodes for entry in node.metadata_props if entry.key == key}


def test_where_nodes_come_from(tmp_path):
    """In the metadata of nodes, which came with opset 21; as their doc string before."""
    export(DATA / "vit.pt2", tmp_path / "new.onnx", 21)
    assert {"conv_proj", "layers.0.ln_1", "head"} <= node_metadata(
        tmp_path / "new.onnx", "module_path"
    )
    sources = node_metadata(tmp_path / "new.onnx", "source")
    assert any("make_models.py:" in source for source in sources)
    export(DATA / "vit.pt2", tmp_path / "old.onnx", 17)
    old = onnx.load(tmp_path / "old.onnx")
    assert old.ir_version == 8
    assert any(node.doc_string.startswith("layers.0.mlp.0 ") for node in old.graph.node)


def test_weights_in_a_file_of_their_own(tmp_path):
    path = tmp_path / "model.onnx"
    file_name = unfuse.program.file_name
    unfuse._unfuse.export_onnx(file_name(DATA / "vit.pt2"), "", file_name(path), 20, "op", 25000)
    assert path.stat().st_size <= 25000
    assert (tmp_path / "model.onnx.data").exists()
    model = onnx_running.check(path)
    external = [t for t in model.graph.initializer if t.data_location == t.EXTERNAL]
    assert external
    inputs = load_file(DATA / "vit.inputs.safetensors")
    expected = load_file(DATA / "vit.outputs.safetensors")
    got = onnx_running.Runtime(path)(inputs)
    for key, value in expected.items():
        assert_close(got[key], value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]


def test_state_is_an_input_with_a_default(tmp_path):
    """A buffer that the model updates: given back, the next call goes on from there."""
    runtime = export(DATA / "mutations.pt2", tmp_path / "model.onnx", 20)
    inputs = load_file(DATA / "mutations.inputs.safetensors")
    first = runtime(inputs)
    assert first["calls.updated"] == 1
    assert runtime({**inputs, "calls": first["calls.updated"]})["calls.updated"] == 2


def test_exported_program(tmp_path):
    model, x = nn.Sequential(nn.Linear(4, 8), nn.GELU()).eval(), torch.randn(3, 4)
    report = unfuse.export_onnx(exported(model, (x,)), tmp_path / "model.onnx", opset="newest")
    assert report.opened == {}
    assert report.partitions is None and "partitions" not in str(report)
    assert list(tmp_path.iterdir()) == [tmp_path / "model.onnx"]
    compare(onnx_running.Runtime(tmp_path / "model.onnx"), model, (x,))
    with pytest.raises(unfuse.Error, match="opset cannot be 16"):
        unfuse.export_onnx(exported(model, (x,)), tmp_path / "model.onnx", opset=16)
    with pytest.raises(unfuse.Error, match="expected an ExportedProgram or the path of a .pt2"):
        unfuse.export_onnx(model, tmp_path / "model.onnx")
    with pytest.raises(unfuse.Error, match="no folder"):
        unfuse.export_onnx(exported(model, (x,)), tmp_path / "missing" / "model.onnx")


class Shift(nn.Module):
    def forward(self, x, n):
        return x[:, n:] * n


def test_an_input_that_is_an_int(tmp_path):
    args = (torch.randn(2, 9), 3)
    program = exported(Shift(), args, dynamic_shapes=(None, Dim.DYNAMIC))
    runtime = export(program, tmp_path / "model.onnx", 20)
    for n in (2, 5):
        got = run(runtime, (args[0], torch.tensor(n)))
        assert_close(got[0], Shift()(args[0], n))
