"""Ops that the target lacks run in torch; the rest stays with us."""

import pytest
import torch
import unfuse
from compiling import Compiled, assert_close
from torch import nn


class Mixed(nn.Module):
    """Compiled, left to torch, compiled again; the middle needs a parameter of its own."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(9, 4)
        self.window = nn.Parameter(torch.rand(16))

    def forward(self, x):
        x = torch.relu(self.up(x))
        spectrum = torch.fft.rfft(x * self.window)
        return self.down(spectrum.abs()), x


def test_the_rest_is_ours(use_aot):
    model, x = Mixed(), torch.randn(3, 8)
    run = Compiled(model, use_aot=use_aot)
    for mine, theirs in zip(run(x), model(x), strict=True):
        assert_close(mine, theirs)
    assert run.report.partitions == 2
    left = {op.op for op in run.report.left_to_torch}
    assert any("fft" in op for op in left)
    (fft,) = [op for op in run.report.left_to_torch if "fft" in op.op]
    assert fft.count == 1
    assert fft.source.startswith("test_left_to_torch.py:")
    assert fft.reason


def test_a_parameter_that_only_torch_reads(use_aot):
    class OnlyTorch(nn.Module):
        def __init__(self):
            super().__init__()
            self.signal, self.linear = nn.Parameter(torch.randn(8)), nn.Linear(5, 5)

        def forward(self, x):
            return self.linear(torch.fft.rfft(self.signal).abs() + x)

    model, x = OnlyTorch(), torch.randn(3, 5)
    run = Compiled(model, use_aot=use_aot)
    assert_close(run(x), model(x))
    model.signal.mul_(3)
    assert_close(run(x), model(x))


@torch.library.custom_op("unfuse_tests::halve", mutates_args=())
def halve(x: torch.Tensor) -> torch.Tensor:
    return x / 2


@halve.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("unfuse_tests::double_", mutates_args={"x"})
def double_(x: torch.Tensor) -> None:
    x.mul_(2)


def test_custom_op(use_aot):
    def function(x):
        return halve(x + 1) * 4

    run, x = Compiled(function, use_aot=use_aot), torch.randn(5)
    assert_close(run(x), function(x))
    assert [op.op for op in run.report.left_to_torch] == ["unfuse_tests.halve.default"]
    assert run.report.partitions == 2


def test_custom_op_that_writes(use_aot):
    def function(x):
        y = x + 1
        double_(y)
        return y * 3

    run, x = Compiled(function, use_aot=use_aot), torch.randn(5)
    assert_close(run(x), function(x))
    # What it writes is known to torch alone, which makes the graph functional.
    captured = [note for note in run.report.notes if "unfuse_tests.double_" in note]
    assert len(captured) == (0 if use_aot else 1)


def test_complex_numbers(use_aot):
    def function(x):
        y = torch.complex(x, x + 1) * 2j
        return y.real + 1, y

    run, x = Compiled(function, use_aot=use_aot), torch.randn(5)
    for mine, theirs in zip(run(x), function(x), strict=True):
        assert_close(mine, theirs)


def test_data_dependent_sizes(use_aot):
    def function(x):
        chosen = torch.nonzero(x > 0)
        return chosen * 2, x + 1

    x = torch.randn(20)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        run = Compiled(function, use_aot=use_aot)
        for mine, theirs in zip(run(x), function(x), strict=True):
            assert torch.equal(mine, theirs)
        other = torch.randn(20) + 1
        assert torch.equal(run(other)[0], function(other)[0])


def test_left_with_symbolic_sizes(use_aot):
    model = Mixed()
    run = Compiled(model, use_aot=use_aot, dynamic=True)
    for batch in (3, 5):
        x = torch.randn(batch, 8)
        for mine, theirs in zip(run(x), model(x), strict=True):
            assert_close(mine, theirs)
    assert run.report.graphs == 1


def test_symbolic_argument_of_an_op_left_to_torch(use_aot):
    def function(x):
        y = x + 1
        return torch.fft.rfft(y, n=y.shape[0] * 2, dim=0).abs() * 2

    run = Compiled(function, use_aot=use_aot, dynamic=True)
    for length in (4, 7):
        x = torch.randn(length, 3)
        assert_close(run(x), function(x))


def test_strict_lists_everything(use_aot):
    with pytest.raises(Exception) as raised:
        Compiled(Mixed(), use_aot=use_aot, strict=True)(torch.randn(3, 8))
    cause = raised.value.__cause__ or raised.value
    text = str(raised.value)
    assert "fft" in text and "test_left_to_torch.py" in text, cause


def test_strict_is_silent_when_all_is_ours(use_aot):
    model, x = nn.Linear(8, 8), torch.randn(2, 8)
    assert_close(Compiled(model, use_aot=use_aot, strict=True)(x), model(x))


def test_error_is_unfuse_error():
    raised = None
    try:
        unfuse.load("/does/not/exist.pt2")
    except unfuse.Error as error:
        raised = error
    assert raised is not None
    assert raised.kind in ("invalid_argument", "invalid_file")
    assert "exist.pt2" in str(raised)
