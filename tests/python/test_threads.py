"""Several threads call one compiled model, also while its weights change."""

import concurrent.futures

import models
import pytest
import torch
from compiling import Compiled, assert_close


def test_many_threads_at_once(use_aot):
    model = models.encoder(2, 32, 2, 64)
    compiled = Compiled(model, use_aot=use_aot, dynamic=True)
    inputs = [torch.randn(2, 2 + seed % 4, 32) for seed in range(40)]
    expected = [model(x) for x in inputs]
    compiled(inputs[0])

    def call(x):
        with torch.no_grad():
            return compiled(x)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(call, inputs))
    for mine, theirs in zip(results, expected, strict=True):
        assert_close(mine, theirs)


def test_registering_the_backend_twice_is_an_error_in_torch():
    # Which two threads do that look it up by name for the first time at once.
    backend = torch._dynamo.lookup_backend("unfuse")
    with pytest.raises(AssertionError, match="duplicate name"):
        torch._dynamo.register_backend(backend, name="unfuse")


def test_weights_change_meanwhile(use_aot):
    # Each result belongs to one state of the weights, the old or a new one.
    model, x = models.encoder(1, 32, 2, 64), torch.randn(2, 3, 32)
    states = [models.encoder(1, 32, 2, 64, seed=seed).state_dict() for seed in range(2)]
    expected = []
    for state in states:
        model.load_state_dict(state)
        expected.append(model(x))
    compiled = Compiled(model, use_aot=use_aot)
    compiled(x)

    def call(_):
        with torch.no_grad():
            return compiled(x)

    for state, result in zip(states * 3, expected * 3):
        model.load_state_dict(state)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for mine in pool.map(call, range(8)):
                assert_close(mine, result)
