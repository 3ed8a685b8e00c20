"""Tensors that a graph holds: numbers assigned through indexing, tensors made by the model."""

import pytest
import torch


def assign_column(x):
    y = x * 2
    y[:, 0] = 5
    return y


def assign_to_input(x):
    x[:, 0] = 5
    return x + 1


def assign_by_mask(x):
    y = x.clone()
    y[y > 0] = -1.5
    return y


def make_a_tensor(x):
    return x * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])


@pytest.mark.parametrize(
    "function", [assign_column, assign_to_input, assign_by_mask, make_a_tensor]
)
def test_constants_in_graphs(function, use_aot):
    compiled = torch.compile(function, backend="unfuse", options={"use_aot": use_aot})
    for seed in range(3):
        torch.manual_seed(seed)
        x = torch.randn(4, 5)
        given, expected_input = x.clone(), x.clone()
        expected = function(expected_input)
        torch.testing.assert_close(compiled(given), expected)
        assert torch.equal(given, expected_input)
