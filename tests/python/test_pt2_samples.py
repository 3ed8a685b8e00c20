"""Every model that the tests define, read and written again, and opened, for torch to run."""

import copy

import pytest
import sample_models
import torch
import unfuse
from compiling import assert_close
from exported_models import identical
from sample_models import SAMPLES
from test_written_files import nodes, rewritten
from torch.utils import _pytree as pytree


def results_of(name, program):
    """What the sample's call gives, and what it leaves in buffers and arguments."""
    _, args, kwargs = SAMPLES[name].model_and_call()
    module = copy.deepcopy(program.module())  # its buffers are the program's own
    results = pytree.tree_leaves(module(*args, **kwargs))
    given = pytree.tree_leaves((args, kwargs))
    return [value for value in (*results, *module.buffers(), *given) if torch.is_tensor(value)]


@pytest.mark.parametrize("name", SAMPLES)
def test_written_again(name, tmp_path):
    before = torch.export.load(sample_models.saved(name))
    after = rewritten(sample_models.saved(name), tmp_path)
    after.validate()
    assert str(after.graph) == str(before.graph)
    assert after.graph_module.print_readable(False) == before.graph_module.print_readable(False)
    assert nodes(after) == nodes(before)
    assert after.graph_signature == before.graph_signature
    assert str(after.range_constraints) == str(before.range_constraints)
    for left, right in zip(results_of(name, after), results_of(name, before), strict=True):
        assert identical(left, right)


def not_core(program):
    ops = [node.target for node in program.graph.nodes]
    ops = [op for op in ops if isinstance(op, torch._ops.OpOverload)]
    return {op for op in ops if torch.Tag.core not in op.tags}


@pytest.mark.parametrize("name", SAMPLES)
def test_opened(name):
    before = sample_models.program(name)
    after = unfuse.decompose(before, strict=True)
    after.validate()
    for left, right in zip(results_of(name, after), results_of(name, before), strict=True):
        assert_close(left, right)


@pytest.mark.filterwarnings("ignore:unfuse.decompose left")
@pytest.mark.parametrize("name", SAMPLES)
def test_opened_to_core(name):
    """Nothing is left but what torch has no core form of itself."""
    before = sample_models.program(name)
    after = unfuse.decompose(before, to="core")
    after.validate()
    left = not_core(after)  # of shifts by another name
    assert not left or len(left) <= len(not_core(before.run_decompositions()))
    for left, right in zip(results_of(name, after), results_of(name, before), strict=True):
        assert_close(left, right)
