"""as_strided of a graph input: the input's storage may hold more than the input shows, and where
the input begins is not guarded, so that one compiled graph meets inputs that begin elsewhere."""

import pytest
import torch
from compiling import Compiled
from unfuse import Error

OFFSETS = (3, 0, 5)
READS = {
    "before the input": lambda x: x.as_strided((2, 2), (2, 1), 0),
    "before and after": lambda x: x.as_strided((3, 4), (5, 1), 1),
    "computed with": lambda x: x.as_strided((2, 3), (3, 1), 0) * 2 + 1,
    "its own first place": lambda x: x.as_strided((2, 2), (4, 1)),
    "first place of a view": lambda x: x[1:, 1:].as_strided((2, 2), (4, 1)) + 1,
    "view of a window": lambda x: x.as_strided((3, 4), (4, 1), 2)[1:].t(),
    "window of a placed window": lambda x: x.as_strided((8,), (1,), 2)[3:].as_strided((3,), (2,)),
    "window of a window": lambda x: x.as_strided((8,), (1,))[3:].as_strided((3,), (2,)),
    "window from where it was traced": lambda x: x[0].as_strided((4,), (1,), 3) + 1,
    "the same elements": lambda x: x.as_strided((12,), (1,), 3) + 1,
    "copy": lambda x: torch.as_strided_copy(x, (2, 2), (2, 1), 0),
    "nothing": lambda x: x.as_strided((0, 4), (4, 1)) + 1,
    "one place": lambda x: x.as_strided((2, 3), (0, 0)) + 1,
    "several": lambda x: (x.as_strided((2,), (1,), 0), x + 1, x[1].as_strided((2,), (1,))),
}
WRITES = {
    "through a window": lambda x: x.as_strided((2, 2), (2, 1), 0).mul_(3),
    "read again": lambda x: (x.as_strided((5,), (1,), 0).add_(1), x.as_strided((9,), (2,), 0) + 1),
    "an older window": lambda x: (x.as_strided((6,), (1,), 1), x.mul_(2))[0] + 1,
    "a view of an older window": lambda x: (x.as_strided((6,), (1,), 1)[2:], x[0].zero_())[0] + 1,
    "through a view": lambda x: (x[1:].as_strided((4,), (2,)).zero_(), x + 1),
    "in place": lambda x: x.add_(1).as_strided((4,), (1,), 0) + 1,
    "scatter": lambda x: torch.as_strided_scatter(x, x[0] * 2, (4,), (1,), 4),
    "scatter and read": lambda x: (
        torch.as_strided_scatter(x[1:], x[0], (4,), (1,), 0).as_strided((8,), (1,), 0) + 1
    ),
}


def results_of(function, offset):
    """What it returns, and all of the storage afterwards."""
    x = torch.arange(24.0)[offset : offset + 12].view(3, 4)
    results = function(x)
    results = results if isinstance(results, tuple) else (results,)
    return [*results, x.as_strided((24,), (1,), 0)]


def compare(function, run):
    for offset in OFFSETS:
        have, want = results_of(run, offset), results_of(function, offset)
        for _ in range(2):
            for mine, theirs in zip(have, want, strict=True):
                assert torch.equal(mine, theirs), (offset, mine, theirs)
                assert mine.stride() == theirs.stride()
            # What shows the storage in eager shows it here.
            have[-1].mul_(2)
            want[-1].mul_(2)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_windows_show_the_storage(read, dynamic, use_aot):
    compare(read, Compiled(read, use_aot=use_aot, dynamic=dynamic))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_graphs_that_write_to_a_storage_with_windows_run_in_torch(write, use_aot):
    run = Compiled(write, use_aot=use_aot)
    compare(write, run)
    assert {left.op for left in run.report.left_to_torch} <= {
        "aten.as_strided.default",
        "aten.as_strided_scatter.default",
    }
    assert "input's storage" in run.report.left_to_torch[0].reason
    assert "test_windows_of_inputs.py" in run.report.left_to_torch[0].source


def test_strict_refuses_them(use_aot):
    run = Compiled(WRITES["an older window"], use_aot=use_aot, strict=True)
    with pytest.raises(
        torch._dynamo.exc.BackendCompilerFailed, match="as_strided.*storage"
    ) as info:
        run(torch.ones(3, 4))
    assert isinstance(info.value.inner_exception, Error)


def test_torch_loses_what_was_written_beside_a_window():
    """docs/facts.md: in every backend that goes through AOTAutograd."""

    def function(x):
        window = x.as_strided((6,), (1,), 1)
        x.mul_(2)
        return window + 1

    want = function(torch.arange(24.0)[3:15].view(3, 4))
    have = torch.compile(function, backend="aot_eager")(torch.arange(24.0)[3:15].view(3, 4))
    assert not torch.equal(want, have)
