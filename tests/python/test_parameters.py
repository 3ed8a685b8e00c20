"""Weights that change after compiling, and modules that share code."""

import copy
import gc
import weakref

import models
import pytest
import torch
import unfuse
from compiling import Compiled, assert_close
from torch import nn


def _mlp(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8)).eval()


@pytest.fixture
def compiled(use_aot):
    """(model, compiled model, input) that has run once."""
    model, x = _mlp(), torch.randn(4, 16)
    run = Compiled(model, use_aot=use_aot)
    assert_close(run(x), model(x))
    return model, run, x


def _in_place(model):
    model[0].weight.mul_(2)


def _load_state_dict(model):
    model.load_state_dict(_mlp(seed=1).state_dict())


def _data(model):
    model[0].weight.data = torch.randn(32, 16)


def _other_strides(model):
    # The same memory, read in another order.
    square = torch.randn(8, 32)
    model[3].weight.data = square
    model[3].weight.data = square.reshape(32, 8).t()


def _another_parameter(model):
    model[3].bias = nn.Parameter(torch.randn(8))


def _moved(model):
    # Every parameter gets new memory.
    for parameter in model.parameters():
        parameter.data = parameter.data.clone() + 1


def _optimizer_step(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with torch.enable_grad():
        model(torch.randn(4, 16)).sum().backward()
    optimizer.step()


@pytest.mark.parametrize(
    "change",
    [
        _in_place,
        _load_state_dict,
        _data,
        _other_strides,
        _another_parameter,
        _moved,
        _optimizer_step,
    ],
)
def test_changed_weights_are_seen(compiled, change):
    model, run, x = compiled
    before = run(x)
    change(model)
    after = run(x)
    assert not torch.allclose(before, after)
    assert_close(after, model(x))


def test_moved_to_another_dtype_and_back(compiled):
    model, run, x = compiled
    model.to(torch.bfloat16)
    assert_close(run(x.bfloat16()), model(x.bfloat16()))
    model.to(torch.float32)
    assert_close(run(x), model(x))


def test_writes_that_torch_does_not_record_need_a_refresh(compiled):
    model, run, x = compiled
    model[0].weight.data.mul_(2)
    unfuse.refresh(model)
    assert_close(run(x), model(x))


def test_inference_tensors(use_aot):
    with torch.inference_mode():
        model, x = _mlp(), torch.randn(4, 16)
        run = Compiled(model, use_aot=use_aot)
        assert_close(run(x), model(x))
        model[0].weight.mul_(2)
        unfuse.refresh(model)
        assert_close(run(x), model(x))


def test_buffers(use_aot):
    model, x = nn.Sequential(nn.BatchNorm1d(16), nn.Linear(16, 4)).eval(), torch.randn(4, 16)
    run = Compiled(model, use_aot=use_aot)
    assert_close(run(x), model(x))
    model[0].running_mean.add_(3)
    assert_close(run(x), model(x))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def test_instances_share_code_and_not_weights(use_aot):
    one, other, x = Pair(), Pair(), torch.randn(3, 8)
    run_one, run_other = Compiled(one, use_aot=use_aot), Compiled(other, use_aot=use_aot)
    for _ in range(2):
        assert_close(run_one(x), one(x))
        assert_close(run_other(x), other(x))


def test_one_layer_function_for_several_instances(use_aot):
    # Dynamo compiles this function once and calls it with either module.
    def apply(module, x):
        return module(x)

    run, x = Compiled(apply, use_aot=use_aot), torch.randn(3, 8)
    modules = [Pair() for _ in range(3)]
    for module in modules * 2:
        assert_close(run(module, x), module(x))
    modules[1].first.weight.zero_()
    for module in modules:
        assert_close(run(module, x), module(x))


def test_tied_weights(use_aot):
    model = Pair()
    model.second.weight = model.first.weight
    run, x = Compiled(model, use_aot=use_aot), torch.randn(3, 8)
    assert_close(run(x), model(x))
    model.first.weight.add_(1)
    assert_close(run(x), model(x))


def test_the_model_is_left_as_it_was(compiled):
    model, _, _ = compiled
    fresh = _mlp()
    assert list(model.state_dict()) == list(fresh.state_dict())
    for name, tensor in fresh.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor)
    copy.deepcopy(model)


def test_packed_weights_die_with_the_model(use_aot):
    model, x = models.encoder(1, 64, 4, 64), torch.randn(1, 3, 64)
    run = Compiled(model, use_aot=use_aot)
    run(x)
    weight = weakref.ref(model.layers[0].linear1.weight)
    del model, run
    torch._dynamo.reset()
    gc.collect()
    assert weight() is None
