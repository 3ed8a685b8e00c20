"""Writes through views, and results that show one tensor: as eager has them, in both modes."""

import pytest
import torch
import unfuse
from compiling import Compiled, assert_close


def run_both(function, x, use_aot, **options):
    run = Compiled(function, use_aot=use_aot, **options)
    have, want = run(x.clone()), function(x.clone())
    if isinstance(want, torch.Tensor):
        have, want = (have,), (want,)
    for mine, theirs in zip(have, want, strict=True):
        assert_close(mine, theirs)
    return run


def same_sizes(x):
    y = x * 2
    y.expand(4, 4).mul_(3)
    y.expand(1, 4, 4)[0, 1].add_(1)
    return y


def one_of_each_place(x):
    y = x * 2
    many = y[:1].expand(3, 4)
    many[0].mul_(3)
    return y, many + 0


def windows(x):
    y = x * 2
    y.as_strided((2, 3), (4, 1), 1).mul_(3)
    y.unfold(1, 2, 2).add_(1)
    return y


@pytest.mark.parametrize("function", [same_sizes, one_of_each_place, windows])
def test_writes_through_views(function, use_aot):
    run = run_both(function, torch.randn(4, 4), use_aot)
    captured = [note for note in run.report.notes if "in spite of use_aot=False" in note]
    assert len(captured) == (0 if use_aot or function is same_sizes else 1)


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_fills_an_expanded_tensor_fills_its_places(dynamic):
    """Without AOTAutograd: torch makes such a write functional by adding up what changed at every
    element of a place, docs/facts.md."""

    def function(x):
        y = x * 2
        y[:1].expand(3, 5, 4).fill_(7)
        y[1:, :1].t().expand(2, -1, -1).transpose(0, 1).zero_()
        z = x[:, :1] * 2
        z.expand(-1, 3).fill_(x.shape[0])
        return y, z

    run_both(function, torch.randn(5, 4)[:, :4], use_aot=False, dynamic=dynamic)


def test_torch_makes_writes_through_expand_functional_by_sums():
    def function(x):
        y = x * 2
        y[:1].expand(4, 4).fill_(7)
        return y[:1]

    x = torch.ones(4, 4)
    assert torch.equal(function(x), torch.full((1, 4), 7.0))
    for backend in ("aot_eager", "unfuse"):
        torch._dynamo.reset()
        # 2, and four times 7 - 2.
        assert torch.equal(torch.compile(function, backend=backend)(x), torch.full((1, 4), 22.0))


def test_other_writes_to_several_elements_of_a_place_are_errors():
    def function(x):
        y = x[:1] * 2
        y.expand(4, 4).masked_fill_(x > 0, 3.0)
        return y

    with pytest.raises(Exception, match=r"expand.*several elements.*clone"):
        Compiled(function, use_aot=False)(torch.randn(4, 4))


def test_rrelu(use_aot):
    run_both(torch.nn.RReLU().eval(), torch.randn(4, 4), use_aot)


def several_views(x):
    y = (x * 2).t()
    return y, y[1:], y.t()[0], y.view(torch.int32), y[:, :1].expand(-1, 3), x.sum(), y[2]


@pytest.mark.parametrize("dynamic", [False, True])
def test_views_of_one_tensor_share_memory(use_aot, dynamic):
    run = Compiled(several_views, use_aot=use_aot, dynamic=dynamic)
    for rows, columns in [(4, 5), (6, 4)]:
        x = torch.randn(rows, columns)
        have, want = run(x), several_views(x)
        for mine, theirs in zip(have, want, strict=True):
            assert_close(mine, theirs)
            assert mine.stride() == theirs.stride()
        have[1].mul_(3)
        want[1].mul_(3)
        have[6].zero_()
        want[6].zero_()
        for mine, theirs in zip(have, want, strict=True):
            assert_close(mine, theirs)


def test_a_tensor_that_is_returned_in_several_guises(use_aot):
    """Views that change nothing are the tensor itself in a traced graph."""

    def function(x):
        y = x * 3
        return torch.broadcast_tensors(y, x)[0], x.sum(), y, y.float()

    run, x = Compiled(function, use_aot=use_aot), torch.randn(3, 4)
    broadcast, _, whole, same = run(x)
    whole.zero_()
    assert not broadcast.any() and not same.any()


def test_views_of_what_was_written(use_aot):
    def function(x):
        y = x + 1
        first = y[0]
        y.mul_(2)
        return first, y[1:], y

    run, x = Compiled(function, use_aot=use_aot), torch.randn(3, 4)
    first, rest, whole = run(x)
    for mine, theirs in zip((first, rest, whole), function(x), strict=True):
        assert_close(mine, theirs)
    whole.zero_()
    assert not first.any() and not rest.any()


class BroadcastsAndWrites(torch.nn.Module):
    """Views that the schemas of the ops that make them do not mark."""

    def forward(self, x, y):
        z = y * 2
        first, second = torch.broadcast_tensors(x, z)
        first.mul_(3)
        second[0].zero_()
        rows, columns = torch.meshgrid(x[0], z[:, 0], indexing="xy")
        return rows + columns, z, torch.tensor(2.0).movedim(0, -1) + x.sum()


def test_writes_through_views_of_several_tensors(tmp_path):
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    model, inputs, expected_inputs = BroadcastsAndWrites(), (x.clone(), y), (x.clone(), y)
    program = torch.export.export(model, (x.clone(), y), strict=False)
    torch.export.save(program, tmp_path / "model.pt2")
    have, want = unfuse.load(tmp_path / "model.pt2")(*inputs), model(*expected_inputs)
    for mine, theirs in zip((*have, *inputs), (*want, *expected_inputs), strict=True):
        assert_close(mine, theirs)
