"""Results that are views of inputs have eager's strides and share memory, whatever they skip."""

import pytest
import torch

VIEWS = {
    "last columns": lambda x: x[:, -2:],
    "first columns": lambda x: x[:, :-1],
    "one column": lambda x: x[:, 3],
    "steps": lambda x: x[::2, ::3],
    "narrow": lambda x: x.narrow(1, -2, 2),
    "transpose": lambda x: x.t(),
    "expand": lambda x: x[:, :1].expand(-1, 7),
    "itself": lambda x: x,
    "beside others": lambda x: (x + 1, x[:, 1:3], x.sum()),
}


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_views_of_inputs(view, dynamic, use_aot):
    compiled = torch.compile(
        view, backend="unfuse", dynamic=dynamic, options={"use_aot": use_aot, "strict": True}
    )
    for rows, columns in [(4, 5), (6, 5), (3, 8)]:
        x = torch.arange(float(rows * columns)).view(rows, columns)
        expected, actual = view(x), compiled(x)
        if isinstance(expected, torch.Tensor):
            expected, actual = (expected,), (actual,)
        x.add_(100)
        for want, have in zip(expected, actual, strict=True):
            assert torch.equal(want, have)
            assert want.stride() == have.stride()


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_a_view_that_depends_on_data_is_an_error_that_says_so(use_aot):
    def rows_from(x, start):
        first = start.item()
        torch._check(0 <= first)
        torch._check(first < 4)
        return x[first:], x + 1

    compiled = torch.compile(rows_from, backend="unfuse", options={"use_aot": use_aot})
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="depends on data.*clone"):
        compiled(torch.randn(5, 8), torch.tensor(2))
