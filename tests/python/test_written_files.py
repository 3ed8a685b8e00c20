"""Programs that are read and written again, for torch to load and run."""

import pytest
import torch
from exported_models import DATA, NAMES, call, identical, load
from torch.export.pt2_archive._package import load_pt2
from unfuse import _unfuse


def rewritten(path, tmp_path, model=""):
    written = tmp_path / "written.pt2"
    _unfuse.rewrite_file(str(path), model, str(written))
    return torch.export.load(written)


def nodes(program):
    """Everything that there is to say about the graph's nodes but for the order of keys."""
    return [
        (
            node.op,
            node.name,
            str(node.target),
            str(node.args),
            str(node.kwargs),
            str(node.meta.get("val")),
            node.meta.get("stack_trace"),
            node.meta.get("nn_module_stack"),
        )
        for node in program.graph.nodes
    ]


@pytest.mark.parametrize("name", NAMES)
def test_torch_finds_the_program_as_it_was(name, tmp_path):
    before, after = load(name), rewritten(DATA / f"{name}.pt2", tmp_path)
    after.validate()
    assert nodes(after) == nodes(before)
    assert after.graph_signature == before.graph_signature
    assert str(after.range_constraints) == str(before.range_constraints)
    assert str(after.module_call_graph) == str(before.module_call_graph)
    assert list(after.state_dict) == list(before.state_dict)
    assert [v.dialect for v in after.verifiers] == [v.dialect for v in before.verifiers]
    for left, right in zip(call(after), call(before), strict=True):
        assert identical(left, right)


@pytest.mark.parametrize(
    "name", ["sizes", "bounded", "data_dependent", "weights", "mutations", "regions"]
)
def test_reader_files(name, tmp_path):
    path = DATA / "reader" / f"{name}.pt2"
    before, after = torch.export.load(path), rewritten(path, tmp_path)
    after.validate()
    assert nodes(after) == nodes(before)
    assert after.graph_signature == before.graph_signature


def test_shared_weights_stay_shared(tmp_path):
    program = rewritten(DATA / "weights_shared.pt2", tmp_path)
    storages = [tensor.untyped_storage().data_ptr() for tensor in program.state_dict.values()]
    before = load("weights_shared").state_dict.values()
    assert len(set(storages)) == len({t.untyped_storage().data_ptr() for t in before})


def test_several_models(tmp_path):
    written = tmp_path / "written.pt2"
    _unfuse.rewrite_file(str(DATA / "reader/several.pt2"), "twice", str(written))
    before = load_pt2(DATA / "reader/several.pt2").exported_programs
    after = load_pt2(written).exported_programs
    assert sorted(after) == sorted(before) == ["thrice", "twice"]
    for name in after:
        assert nodes(after[name]) == nodes(before[name])
