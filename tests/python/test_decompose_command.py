"""unfuse decompose: files that torch takes, with nothing fused in them, and the same results."""

import pytest
import torch
from accuracy import Errors, assert_as_accurate, assert_errors_within
from command import unfuse
from exported_models import DATA, NAMES, call, identical, is_float, load
from torch import nn

FUSED = ("_transformer_encoder_layer_fwd", "_native_multi_head_attention")


def decompose(name, tmp_path, *options):
    output = tmp_path / "plain.pt2"
    ran = unfuse("decompose", DATA / f"{name}.pt2", "-o", output, *options)
    assert ran.returncode == 0, ran.stderr
    program = torch.export.load(output)
    program.validate()
    return program, ran.stdout


def ops(program):
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


def assert_same_results(program, name):
    results = zip(call(program), call(load(name)), call(load(name), torch.float64), strict=True)
    for ours, eager, exact in results:
        if not is_float(ours):
            assert identical(ours, eager)
        elif ours.dtype in (torch.float16, torch.bfloat16):
            # Each op rounds: as far from the exact result as eager is, not necessarily as eager.
            assert_errors_within(Errors.of(ours, exact), Errors.of(eager, exact))
        else:
            torch.testing.assert_close(ours, eager, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_models(name, to, tmp_path):
    before = load(name)
    program, _ = decompose(name, tmp_path, "--to", to)
    assert not [op for op in ops(program) if any(fused in str(op) for fused in FUSED)]
    assert list(program.state_dict) == list(before.state_dict)
    assert [spec.arg for spec in program.graph_signature.input_specs] == [
        spec.arg for spec in before.graph_signature.input_specs
    ]
    assert str(program.range_constraints) == str(before.range_constraints)
    if to == "core":
        left = {
            str(op)
            for op in ops(program)
            if isinstance(op, torch._ops.OpOverload) and torch.Tag.core not in op.tags
        }
        assert left == ({"aten.fft_rfft.default"} if name == "left_to_torch" else set())
    assert_same_results(program, name)


@pytest.mark.parametrize("to", ["sdpa", "core"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_accuracy(to, norm_first, tmp_path):
    layer = nn.TransformerEncoderLayer(128, 4, 256, norm_first=norm_first, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(8, 64, 128)
    program = torch.export.export(model, (x,), strict=True)
    assert any("_transformer_encoder_layer_fwd" in str(op) for op in ops(program))
    torch.export.save(program, tmp_path / "model.pt2")
    ran = unfuse("decompose", tmp_path / "model.pt2", "-o", tmp_path / "plain.pt2", "--to", to)
    assert ran.stdout.startswith("opened 2 aten._transformer_encoder_layer_fwd.default\n")
    opened = torch.export.load(tmp_path / "plain.pt2").module()

    def inputs(seed):
        return (torch.randn(x.shape, generator=torch.Generator().manual_seed(seed)),)

    assert_as_accurate(opened, model, inputs, seeds=20)
