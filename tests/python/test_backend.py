"""The backend's behaviour around the graph: options, gradients, mutation, aliases, shapes."""

import logging
import warnings

import models
import pytest
import torch
import unfuse
from compiling import Compiled, assert_close
from torch import nn


def test_found_by_name():
    assert "unfuse" in torch._dynamo.list_backends()
    model, x = models.encoder(1, 32, 2, 64), torch.randn(2, 5, 32)
    assert_close(torch.compile(model, backend="unfuse")(x), model(x))
    compiled = torch.compile(model, backend="unfuse", options={"use_aot": False, "strict": True})
    assert_close(compiled(x), model(x))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"use_oat": True}, ["use_oat", "use_aot", "strict", "padded_rows"]),
        ({"fully_masked_rows": "nan"}, ["fully_masked_rows", "nan", "'op'", "'zero'"]),
        ({"padded_rows": "eager"}, ["padded_rows", "'compiled'"]),
        ({"strict": 1}, ["strict", "True"]),
    ],
)
def test_unknown_options(options, words):
    with pytest.raises(Exception) as raised:
        torch.compile(nn.Linear(2, 2), backend="unfuse", options=options)(torch.ones(1, 2))
    for word in words:
        assert word in str(raised.value)


def test_a_call_that_may_want_a_gradient_goes_to_eager(use_aot):
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)), torch.randn(2, 4)
    compiled = Compiled(model, use_aot=use_aot)
    with torch.enable_grad(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(x).sum().backward()
        compiled(x)
    ours = [w for w in caught if issubclass(w.category, unfuse.EagerFallbackWarning)]
    assert len(ours) == 1
    assert "no_grad" in str(ours[0].message)
    assert ours[0].filename.endswith("compiling.py")  # Where the model is called.
    assert model[0].weight.grad is not None
    # Without gradients it is compiled.
    assert_close(compiled(x), model(x))
    assert compiled.report.partitions == 1


def test_only_the_inside_is_without_gradients(use_aot):
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        @torch.no_grad()
        def forward(self, x):
            return self.linear(x)

    model, x = Inner(), torch.randn(2, 4)
    with torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", unfuse.EagerFallbackWarning)
        compiled = Compiled(model, use_aot=use_aot)
        assert_close(compiled(x), model(x))
        compiled.assert_whole()


def test_inputs_that_are_written(use_aot):
    def function(x, y):
        x.add_(1)
        y[0].mul_(3)
        return x * 2 + y

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    x_eager, y_eager = x.clone(), y.clone()
    expected = function(x_eager, y_eager)
    compiled = Compiled(function, use_aot=use_aot)
    assert_close(compiled(x, y), expected)
    assert_close(x, x_eager)
    assert_close(y, y_eager)
    compiled.assert_whole()


def test_buffers_that_are_written(use_aot):
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(4))
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            self.total.add_(x.sum(0))
            return self.linear(x) + self.total

    one, other = Counter(), Counter()
    other.load_state_dict(one.state_dict())
    compiled = Compiled(one, use_aot=use_aot)
    for _ in range(3):
        x = torch.randn(2, 4)
        assert_close(compiled(x), other(x))
        assert_close(one.total, other.total)


def test_results_that_are_inputs_or_views_of_them(use_aot):
    def function(x):
        y = x.view(-1)
        return x, y, x.t(), x[1:], x + 1

    x = torch.randn(3, 4)
    results = Compiled(function, use_aot=use_aot)(x)
    for mine, theirs in zip(results, function(x), strict=True):
        assert mine.stride() == theirs.stride()
        assert_close(mine, theirs)
    assert results[0] is x
    x.zero_()
    assert all((result == 0).all() for result in results[:4])


def test_results_have_eagers_strides(use_aot):
    def function(x):
        return (x * 2).t(), (x + 1).permute(1, 0), torch.cat([x, x]).transpose(0, 1)

    x = torch.randn(3, 4)
    results = Compiled(function, use_aot=use_aot)(x)
    for mine, theirs in zip(results, function(x), strict=True):
        assert mine.stride() == theirs.stride()
        assert_close(mine, theirs)


def test_inputs_with_any_strides(use_aot):
    model = nn.Linear(4, 4)
    compiled = Compiled(model, use_aot=use_aot, dynamic=True)
    for x in (torch.randn(5, 4), torch.randn(4, 5).t(), torch.randn(10, 8)[::2, ::2]):
        assert_close(compiled(x), model(x))
    wide = torch.randn(1, 4).expand(6, 4)
    assert_close(compiled(wide), model(wide))


def test_nested_results_and_constants(use_aot):
    def function(x, scale):
        return {"a": [x * scale, None], "b": (x.shape[0], "text")}

    x = torch.randn(3)
    result = Compiled(function, use_aot=use_aot)(x, 2)
    assert_close(result["a"][0], x * 2)
    assert result["a"][1] is None
    assert result["b"] == (3, "text")


def test_sizes_as_results(use_aot):
    def function(x):
        return x + 1, x.shape[0] * 2

    compiled = Compiled(function, use_aot=use_aot, dynamic=True)
    for length in (3, 6):
        x = torch.randn(length)
        assert compiled(x)[1] == 2 * length
    assert compiled.report.graphs == 1


def test_one_graph_for_all_sizes(use_aot):
    model = models.encoder(2, 32, 2, 64)
    compiled = Compiled(model, use_aot=use_aot, dynamic=True)
    for batch, length in ((2, 5), (3, 8), (4, 2)):
        x = torch.randn(batch, length, 32)
        padding = torch.zeros(batch, length, dtype=torch.bool)
        padding[1, -1] = True
        result = compiled(x, src_key_padding_mask=padding)
        layers = Compiled(model, use_aot=use_aot)(x, src_key_padding_mask=padding)
        assert_close(result, layers)
    compiled.assert_whole()


def test_marked_dimension(use_aot):
    model = models.vision_transformer(32, 16, 1, 2, 32, 64, 10)
    compiled = Compiled(model, use_aot=use_aot)
    for batch in (2, 3, 7):
        image = torch.randn(batch, 3, 32, 32)
        torch._dynamo.mark_dynamic(image, 0)
        assert_close(compiled(image), model(image))
    compiled.assert_whole()


def test_dynamic_bert(use_aot):
    model = models.bert_like()
    compiled = Compiled(model, use_aot=use_aot, dynamic=True)
    for batch, length in ((2, 9), (3, 5)):
        ids, mask = torch.randint(0, 1000, (batch, length)), torch.ones(batch, length).long()
        mask[0, 3:] = 0
        for mine, theirs in zip(compiled(ids, mask), model(ids, mask), strict=True):
            assert_close(mine, theirs)
    compiled.assert_whole()


def test_graph_breaks(use_aot):
    def function(x):
        x = x * 2
        torch._dynamo.graph_break()
        return torch.relu(x)

    compiled, x = Compiled(function, use_aot=use_aot), torch.randn(4)
    assert_close(compiled(x), function(x))
    compiled.assert_whole(graphs=2)


def test_double(use_aot):
    model, x = nn.Sequential(nn.Linear(4, 4), nn.GELU()).double(), torch.randn(2, 4).double()
    assert_close(Compiled(model, use_aot=use_aot)(x), model(x))


def test_thread_count_follows_torch(use_aot):
    model, x = models.encoder(1, 32, 2, 64), torch.randn(2, 5, 32)
    compiled = Compiled(model, use_aot=use_aot)
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(compiled(x))
        assert_close(results[0], results[1])
    finally:
        torch.set_num_threads(before)


def test_verbose_logs_the_report(caplog):
    with caplog.at_level(logging.INFO, logger="unfuse"):
        Compiled(nn.Linear(2, 2), verbose=True)(torch.ones(1, 2))
    assert "partitions" in caplog.text


def test_silent_by_default(capfd, caplog):
    with caplog.at_level(logging.DEBUG):
        Compiled(nn.Linear(2, 2))(torch.ones(1, 2))
    assert "partitions" not in caplog.text
    assert capfd.readouterr().out == ""
