"""What depends on how a tensor lies in memory: windows on its storage, and ops that torch runs."""

import torch
from compiling import Compiled
from torch.library import custom_op


def laid_out_values(x):
    """What the graph computes, laid out in many ways; x is [4, 12]."""
    cube = (x * 2).view(4, 3, 4)
    return {
        "in order": x + 1,
        "transposed": x.t() + 1,
        "transposed view": (x + 1).t(),
        "copied after transposing": (x + 1).t().contiguous(),
        "part of a view": (x.t() + 1)[1:, 1:],
        "columns": (x + 1)[:, 2:],
        "every other": (x + 1)[::2, ::3],
        "product": (x @ x.t()).t()[1:],
        "permuted": cube.permute(1, 2, 0) - 1,
        "permuted, copied": cube.permute(1, 2, 0).clone(),
        "permuted, copied in order": cube.permute(2, 0, 1).contiguous(),
        "piece": (x + 1).t().split(2)[1],
        "summed": cube.permute(2, 1, 0).sum(0),
        "joined": torch.cat([x.t() + 1, x.t() - 1]),
        "one place for many": (x[:1] + 1).expand(4, 12),
    }


#: size, stride, storage_offset; each lies in every storage above.
WINDOWS = [
    ((2, 3), (3, 1), 0),
    ((2, 3), (1, 2), 1),
    ((3, 2), (1, 1), None),
    ((2, 2, 2), (2, 0, 1), 1),
    ((2, 2), (2, 1), 2),
    ((3,), (2,), None),
    ((), (), 3),
    ((0, 2), (1, 1), 0),
    ((1, 4), (7, 1), 1),
]


def check(function, *inputs, **options):
    run = Compiled(function, **options)
    expected = function(*inputs)
    actual = run(*inputs)
    torch.testing.assert_close(tuple(actual), tuple(expected), rtol=1e-6, atol=1e-6)
    return run


def test_windows_on_storages(use_aot):
    def function(x):
        values = laid_out_values(x).values()
        return [value.as_strided(*window) * 2 for window in WINDOWS for value in values]

    run = check(function, torch.randn(4, 12), use_aot=use_aot)
    assert run.report.left_to_torch == []


def test_written_windows(use_aot):
    def function(x):
        values = laid_out_values(x).values()
        return [
            torch.as_strided_scatter(value, torch.full(size, 7.0), size, stride, offset)
            for size, stride, offset in WINDOWS
            if 0 not in stride  # Refused by torch.
            for value in values
        ]

    run = check(function, torch.randn(4, 12), use_aot=use_aot)
    assert run.report.left_to_torch == []


def test_windows_of_rows(use_aot):
    """Overlapping chunks, as models with sliding windows make them."""

    def function(x):
        y = x * 2
        batch, length, width = y.shape
        sizes = (batch, length // 2 - 1, 4, width)
        return y.as_strided(sizes, (length * width, 2 * width, width, 1)) + 1, y

    for dynamic in (False, True):
        run = check(function, torch.randn(2, 8, 5), use_aot=use_aot, dynamic=dynamic)
        assert run.report.left_to_torch == []


def test_windows_with_symbolic_sizes(use_aot):
    def function(x):
        y = (x.t() + 1)[1:]
        rows, columns = y.shape
        return (y.as_strided((rows, 2), (1, columns)), y.as_strided((columns,), (rows,)))

    run = Compiled(function, use_aot=use_aot, dynamic=True)
    for rows, columns in [(4, 6), (5, 3), (3, 9)]:
        x = torch.randn(rows, columns)
        for have, want in zip(run(x), function(x), strict=True):
            torch.testing.assert_close(have, want)
    assert run.report.graphs == 1


def test_windows_on_inputs(use_aot):
    """The storage is the caller's, and holds more than the input shows."""

    def function(x):
        return (
            x.as_strided((2, 2), (1, 3)) + 1,
            x[1:].as_strided((2, 2), (1, 3)) * 2,
            x.t()[1:].as_strided((2, 3), (3, 1), 2) * 2,
            torch.as_strided_scatter(x, torch.ones(2, 2), (2, 2), (1, 3), 4),
            torch.as_strided_scatter(x[1:], torch.ones(2, 2), (2, 2), (1, 3), 4),
        )

    storage = torch.randn(6, 4)
    check(function, storage[1:5, 1:4], use_aot=use_aot)
    check(function, torch.randn(4, 3), use_aot=use_aot)


def test_windows_after_writes(use_aot):
    def function(x):
        y = x * 2
        part = y[1:]
        window = y.as_strided((2, 4), (1, 2), 1)
        part.add_(1)
        return part.as_strided((3,), (2,)), part.as_strided((3, 3), (1, 4), 0), window * 2, y

    check(function, torch.randn(4, 12), use_aot=use_aot)


def written_through(x):
    y = x.t() * 2
    y.as_strided((2, 3), (4, 1), 1).mul_(3)
    z = x.clone()
    z.as_strided((3, 3), (1, 1)).fill_(5)
    z[1:].add_(1)
    w = x + 1
    w.as_strided((2, 2), (6, 2), 3).copy_(x[:2, :2])
    return y, z, w, y + 1


def test_writes_through_windows():
    check(written_through, torch.randn(4, 12), use_aot=True)


def strides_that_matter(x):
    return [stride for size, stride in zip(x.shape, x.stride()) if size != 1]


@custom_op("unfuse_tests::add_strides", mutates_args=())
def add_strides(x: torch.Tensor, others: list[torch.Tensor]) -> torch.Tensor:
    strides = [strides_that_matter(y) for y in (x, *others)]
    # A copy keeps the layout: what comes next sees this one's.
    return x + sum(sum(i * stride for i, stride in enumerate(row, 2)) for row in strides)


@add_strides.register_fake
def _(x, others):
    return torch.empty_like(x)


def test_custom_ops_get_tensors_as_traced(use_aot):
    def function(x):
        values = laid_out_values(x).values()
        return [add_strides(add_strides(v, [v, x.t()]), []) for v in values]

    check(function, torch.randn(4, 12), use_aot=use_aot)


def test_custom_ops_get_tensors_as_traced_with_symbolic_sizes(use_aot):
    def function(x):
        y = x.t().relu()
        return add_strides(y, [y[1:], y.contiguous(), y[:1].expand(4, -1)])

    run = Compiled(function, use_aot=use_aot, dynamic=True)
    for rows, columns in [(4, 6), (5, 3), (3, 9)]:
        x = torch.randn(rows, columns)
        torch.testing.assert_close(run(x), function(x))


def test_views_that_refuse_other_strides(use_aot):
    """Views as a dtype of another width, and as complex numbers, take only some strides."""

    def function(x):
        values = laid_out_values(x)
        pairs = values["copied after transposing"].view(12, 2, 2)
        cube = values["permuted, copied in order"]
        return (
            values["copied after transposing"].view(torch.int16) + 1,
            cube.view(torch.uint8) + 1,
            torch.view_as_real(torch.view_as_complex(pairs) * 2j),
            torch.complex(cube, cube).view(-1).abs(),
        )

    check(function, torch.randn(4, 12), use_aot=use_aot)
