"""unfuse.explain."""

import json

import models
import torch
import unfuse
from command import unfuse as unfuse_command
from torch import nn

LAYER = "aten._transformer_encoder_layer_fwd.default"


def test_whole_model():
    model, x = models.encoder(2, 32, 2, 64), torch.randn(2, 5, 32)
    report = unfuse.explain(model, x)
    assert (report.graphs, report.graph_breaks, report.partitions) == (1, 0, 1)
    assert report.opened == {LAYER: 2}
    assert report.left_to_torch == []
    text = str(report)
    for word in ("graphs", "graph breaks", "partitions", "left to torch", LAYER):
        assert word in text


def test_keyword_arguments_options_and_notes():
    model, x = models.encoder(1, 32, 2, 64), torch.randn(2, 5, 32)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[0, 3:] = True
    report = unfuse.explain(model, x, src_key_padding_mask=padding, options={"padded_rows": "zero"})
    assert any("padded rows" in note for note in report.notes)


class Breaks(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(5, 5)

    def forward(self, x):
        x = self.first(x)
        torch._dynamo.graph_break()
        return self.second(torch.fft.rfft(x).abs())


def test_breaks_and_ops_left_to_torch():
    report = unfuse.explain(Breaks(), torch.randn(2, 8))
    assert (report.graphs, report.graph_breaks) == (2, 1)
    fft = next(left for left in report.left_to_torch if "fft" in left.op)
    assert fft.count == 1
    assert fft.source.startswith("test_explain.py:")
    assert fft.reason
    assert fft.op in str(report)
    assert "test_explain.py" in str(report)


class Spectrum(nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x).abs()


def test_module_path():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(Spectrum()))
    report = unfuse.explain(model, torch.randn(2, 4))
    assert {left.module_path for left in report.left_to_torch} == {"1.0"}


def test_as_dict_is_json():
    report = unfuse.explain(Breaks(), torch.randn(2, 8))
    read = json.loads(json.dumps(report.as_dict()))
    assert set(read) == {
        "graphs",
        "graph_breaks",
        "partitions",
        "opened",
        "left_to_torch",
        "notes",
    }
    assert set(read["left_to_torch"][0]) == {"op", "count", "reason", "module_path", "source"}


def test_the_command_describes_an_exported_model_by_the_same_keys(tmp_path):
    model, x = models.encoder(2, 32, 2, 64), torch.randn(2, 5, 32)
    with torch.no_grad():
        torch.export.save(torch.export.export(model, (x,), strict=True), tmp_path / "m.pt2")
    described = json.loads(unfuse_command("inspect", "--json", tmp_path / "m.pt2").stdout)
    report = unfuse.explain(model, x).as_dict()
    assert {key: described[key] for key in report} == report

    torch.export.save(torch.export.export(Spectrum(), (x,)), tmp_path / "m.pt2")
    described = json.loads(unfuse_command("inspect", "--json", tmp_path / "m.pt2").stdout)
    left = unfuse.explain(Spectrum(), x).as_dict()["left_to_torch"]
    assert [set(op) for op in described["left_to_torch"]] == [set(op) for op in left]
    assert any("fft" in op["op"] for op in described["left_to_torch"])


def test_again_and_again():
    # More often than dynamo compiles a function for its user.
    model, x = nn.Linear(4, 4), torch.randn(2, 4)
    for _ in range(10):
        assert unfuse.explain(model, x).graphs == 1
    graphs = []
    torch.compile(model, backend=lambda graph, _: graphs.append(graph) or graph.forward)(x)
    assert len(graphs) == 1


def test_no_gradients_asked_for():
    with torch.enable_grad():
        report = unfuse.explain(nn.Linear(4, 4), torch.randn(2, 4))
    assert report.partitions == 1


class HeadOnEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = models.encoder(2, 32, 2, 64)
        self.head = nn.Linear(32, 4)

    def forward(self, x, mask, **options):
        return self.head(self.encoder(x, mask=mask, **options))


def test_modules_that_no_graph_holds():
    model, x = HeadOnEncoder(), torch.randn(2, 5, 32)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    report = unfuse.explain(model, x, mask)
    (note,) = [note for note in report.notes if note.startswith("no graph holds")]
    assert "encoder (TransformerEncoder)" in note and "pass is_causal" in note
    assert note in str(report)
    (note,) = [
        note for note in unfuse.explain(model.encoder, x, mask).notes if "no graph holds" in note
    ]
    assert "TransformerEncoder:" in note


def test_no_note_where_a_graph_holds_all():
    model, x = HeadOnEncoder(), torch.randn(2, 5, 32)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    report = unfuse.explain(model, x, mask, is_causal=True)
    assert not any("no graph holds" in note for note in report.notes)
    broken = unfuse.explain(Breaks(), torch.randn(2, 8)[:, :8])
    assert broken.graph_breaks and not any("no graph holds" in note for note in broken.notes)
