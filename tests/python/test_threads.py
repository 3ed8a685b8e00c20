"""Several threads call one compiled model, also while its weights change."""

import concurrent.futures
import pathlib
import subprocess
import sys

import models
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


FORKING = """
import os, sys, torch
sys.path.insert(0, "examples")
import models
model, x = models.encoder(1, 32, 2, 64), torch.randn(2, 200, 32)
compiled = torch.compile(model, backend="unfuse")
torch.set_num_threads(2)
with torch.no_grad():
    expected = compiled(x)
    child = os.fork()
    if child == 0:
        same = torch.allclose(compiled(x), expected, atol=1e-6)
        os._exit(0 if same else 1)
_, status = os.waitpid(child, 0)
sys.exit(status)
"""


def test_a_forked_process_runs_what_was_compiled_before():
    # OpenMP's threads do not outlive a fork: waiting for them would never end.
    root = pathlib.Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", FORKING], cwd=root, timeout=120, check=True)


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
