"""unfuse.profile(): where the time goes, for torch.compile'd models and exported ones."""

import json
import threading

import pytest
import torch
import unfuse
from torch import nn


class Mixed(nn.Module):
    """Two linear layers, and between them an op that is left to torch."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.second = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.fft.rfft(self.first(x)).real.repeat(1, 2)[:, :16])


@pytest.fixture
def compiled():
    model = torch.compile(nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 8)), backend="unfuse")
    with torch.inference_mode():
        yield model


def test_compiled_models(compiled):
    x = torch.randn(4, 16)
    compiled(x)
    with unfuse.profile() as p:
        compiled(x)
        compiled(x)
    assert p.runs == 2
    assert 0 < p.seconds < 10
    (row,) = [row for row in p.rows() if "linear" in row.op]
    assert row.calls == 4
    assert row.flops == 2 * 2 * 4 * (16 * 32 + 32 * 8)
    assert row.bytes > 0
    assert "linear" in str(p) and "GFLOP/s" in str(p)


def test_by_node(compiled):
    x = torch.randn(4, 16)
    with unfuse.profile() as p:
        compiled(x)
    rows = [row for row in p.rows("node") if "linear" in row.op]
    assert len(rows) == 2
    assert all(row.calls == 1 for row in rows)
    assert {row.module_path[-1] for row in rows} == {"0", "1"}
    assert rows[0].module_path in p.table("node")


def test_what_is_left_to_torch_is_seen():
    model = torch.compile(Mixed(), backend="unfuse")
    with torch.inference_mode(), unfuse.profile() as p:
        model(torch.randn(2, 16))
    left = [row for row in p.rows() if row.op.endswith(", in torch")]
    assert any("fft" in row.op for row in left)
    assert all(row.seconds > 0 for row in left)
    assert any("linear" in row.op for row in p.rows())


def test_exported_models(tmp_path):
    path = tmp_path / "model.pt2"
    x = torch.randn(4, 16)
    with torch.no_grad():
        torch.export.save(torch.export.export(nn.Linear(16, 8), (x,)), path)
    program = unfuse.load(path)
    with unfuse.profile(threads=1) as p:
        program(x)
    assert p.runs == 1
    assert p.rows()[0].flops == 2 * 4 * 16 * 8


def test_trace(compiled, tmp_path):
    with unfuse.profile() as p:
        compiled(torch.randn(4, 16))
    p.save_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["name"] == "run" for event in events) == 1
    assert any("linear" in event["name"] for event in events)
    with pytest.raises(unfuse.Error):
        p.save_trace(tmp_path / "nowhere" / "trace.json")


def test_all_threads_are_recorded(compiled):
    x = torch.randn(4, 16)
    compiled(x)
    program = compiled

    def call():
        with torch.inference_mode():
            program(x)

    with unfuse.profile() as p:
        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert p.runs == 4


def test_misuse(compiled):
    p = unfuse.profile()
    with pytest.raises(unfuse.Error, match="nothing has been recorded"):
        print(p)
    with p, pytest.raises(unfuse.Error, match="already"), unfuse.profile():
        pass
    assert p.runs == 0
    with pytest.raises(unfuse.Error, match="by"):
        p.rows("module")
    with pytest.raises(ZeroDivisionError), unfuse.profile() as p:
        raise ZeroDivisionError
    assert p.runs == 0
