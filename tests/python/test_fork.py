"""Processes that fork after models ran in several threads. OpenMP's threads do not survive that:
what runs in torch itself would wait for ever in the child, what runs here does not."""

import os
import signal

import models
import pytest
import torch
import unfuse
from compiling import Compiled, assert_close
from torch import nn


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def in_child(function):
    """Whether function() does what it should in a forked child."""
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


@pytest.fixture(scope="module")
def image():
    torch.manual_seed(0)
    return torch.randn(4, 3, 32, 32)


@pytest.fixture(scope="module")
def model():
    # Convolutions, products, attention, norms, pointwise ops.
    convolutions = nn.Conv2d(3, 16, 3, padding=1), nn.GELU(), nn.Conv2d(16, 3, 3, padding=1)
    transformer = models.vision_transformer(32, 16, 2, 4, 64, 256, 10)
    return nn.Sequential(*convolutions, transformer).eval()


def test_compiled_models_run_in_forked_children(model, image):
    compiled = Compiled(model)
    expected = compiled(image)
    assert in_child(lambda: assert_close(compiled(image), expected))
    assert in_child(lambda: in_child(lambda: assert_close(compiled(image), expected)))
    assert_close(compiled(image), expected)


def test_weights_are_packed_anew_in_forked_children(model, image):
    compiled = Compiled(model)
    expected = compiled(image)

    def changed():
        for parameter in model.parameters():
            torch.autograd.graph.increment_version(parameter)
        assert_close(compiled(image), expected)

    assert in_child(changed)


def test_programs_run_in_forked_children(model, image, tmp_path):
    torch.export.save(torch.export.export(model, (image,)), tmp_path / "model.pt2")
    program = unfuse.load(tmp_path / "model.pt2")
    expected = program(image)
    assert in_child(lambda: assert_close(program(image), expected))

    def loaded_there():
        assert_close(unfuse.load(tmp_path / "model.pt2")(image), expected)

    assert in_child(loaded_there)
