"""Every model that the tests define, as ONNX: checked by onnx, run by ONNX Runtime, compared with
torch, at the sizes that it was exported with and at others."""

import copy

import pytest
import sample_models
import torch
import unfuse
from compiling import assert_close
from onnx_running import NEWEST, export
from sample_models import REFUSED, SAMPLES
from torch.utils import _pytree as pytree


def expected_of(name, args, kwargs):
    """The results in order, and by name what buffers and inputs hold after the call."""
    program = sample_models.program(name)
    module = copy.deepcopy(program.module())  # its buffers are the program's own
    args, kwargs = copy.deepcopy((args, kwargs))
    results = [t for t in pytree.tree_leaves(module(*args, **kwargs)) if torch.is_tensor(t)]
    inputs = {node.name: value for node, value in sample_models.leaves(name, args, kwargs)}
    return results, {**dict(module.named_buffers()), **inputs}


def check_call(name, runtime, args, kwargs):
    given = [
        torch.as_tensor(value)
        for node, value in sample_models.leaves(name, args, kwargs)
        if torch.is_tensor(value) or isinstance(node.meta["val"], torch.SymInt)
    ]
    results, written = expected_of(name, args, kwargs)
    got = runtime(dict(zip(given_by_the_caller(name, runtime), given, strict=True)))
    for key in [key for key in got if key.endswith(".updated")]:
        assert_close(got.pop(key), written[key.removesuffix(".updated")])
    for left, (output, right) in zip(results, got.items(), strict=True):
        try:
            assert_close(right, left)
        except AssertionError as error:
            raise AssertionError(f"{output}: {error}") from None


def given_by_the_caller(name, runtime):
    """Inputs but for buffers, which have defaults."""
    buffers = dict(sample_models.program(name).named_buffers())
    return [key for key in runtime.inputs if key not in buffers]


@pytest.mark.parametrize("opset", [17, NEWEST])
@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in REFUSED])
def test_sample(name, opset, tmp_path):
    runtime = export(sample_models.saved(name), tmp_path / "model.onnx", opset)
    _, args, kwargs = SAMPLES[name].model_and_call()
    for call in [(args, kwargs), *sample_models.calls_of_other_sizes(name)]:
        check_call(name, runtime, *call)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_form_in_every_opset(name, tmp_path):
    with pytest.raises(unfuse.Error, match="cannot be said in ONNX"):
        unfuse.export_onnx(sample_models.saved(name), tmp_path / "model.onnx", opset=17)
    assert not list(tmp_path.iterdir())
