"""What torch.compile and torch.export record."""

from collections import Counter

import pytest
import torch
from attention_calls import EMBED, FULLY_MASKED_ROW, INF, Heads, Layer, bools, close, qkv, sdpa
from torch import nn


def test_version():
    assert torch.__version__.split("+")[0] == "2.13.0"


def calls(graph):
    return Counter(
        str(getattr(node.target, "__name__", node.target))
        for node in graph.nodes
        if node.op in ("call_function", "call_method")
    )


def captured(function, *arguments, **keywords):
    """The graphs that Dynamo hands a backend, as counters of what they call."""
    graphs = []

    def backend(module, _):
        graphs.append(calls(module.graph))
        return module.forward

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=backend)(*arguments, **keywords)
    return graphs


def encoder(nested=True, heads=2, embed=16, **options):
    layer = nn.TransformerEncoderLayer(embed, heads, 32, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested).eval()


TOKENS = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(6))
PADDING = bools([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]])
CAUSAL = torch.triu(torch.ones(5, 5), 1).bool()
FUSED = "_transformer_encoder_layer_fwd"


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize(
    "masks, fills",
    [
        ({}, 0),
        ({"src_key_padding_mask": PADDING}, 1),
        ({"src_key_padding_mask": torch.zeros(2, 5).masked_fill(PADDING, -INF)}, 0),
        ({"mask": CAUSAL, "is_causal": True}, 1),
        ({"mask": CAUSAL, "is_causal": False}, 1),
        ({"mask": torch.zeros(5, 5).masked_fill(CAUSAL, -INF), "is_causal": True}, 0),
        ({"mask": CAUSAL, "src_key_padding_mask": PADDING, "is_causal": False}, 2),
    ],
)
def test_compile_records_one_graph_with_a_fused_op_a_layer(nested, masks, fills):
    """A bool mask reaches the op as a float one, which an in-place masked_fill_ makes."""
    (graph,) = captured(encoder(nested), TOKENS, **masks)
    assert graph[FUSED] == 2
    assert graph["masked_fill_"] == fills


@pytest.mark.parametrize("options", [{"activation": "gelu"}, {"norm_first": True}])
def test_compile_records_the_fused_op_for_both_activations_and_norm_orders(options):
    (graph,) = captured(encoder(**options), TOKENS)
    assert graph[FUSED] == 2


def test_an_odd_head_count_takes_the_slow_path_of_the_module():
    (graph,) = captured(encoder(heads=3, embed=15), torch.randn(2, 5, 15))
    assert graph[FUSED] == 0 and graph["multi_head_attention_forward"] == 2


def test_a_mask_without_is_causal_leaves_the_whole_encoder_to_eager():
    assert captured(encoder(), TOKENS, mask=CAUSAL) == []


def test_padded_rows_are_zero_in_eager_with_nested_tensors_and_computed_when_compiled():
    module = encoder()
    with torch.no_grad():
        eager = module(TOKENS, src_key_padding_mask=PADDING)
        compiled = torch.compile(module, backend="eager")(TOKENS, src_key_padding_mask=PADDING)
        module.use_nested_tensor = False
        padded = module(TOKENS, src_key_padding_mask=PADDING)
    assert (eager[PADDING] == 0).all()
    close(compiled, padded)
    close(compiled[~PADDING], eager[~PADDING])
    assert (compiled[PADDING] != 0).all()


def test_multi_head_attention_modules_no_longer_emit_the_fused_op():
    attention = nn.MultiheadAttention(16, 2, batch_first=True).eval()
    (graph,) = captured(lambda x: attention(x, x, x, need_weights=False)[0], TOKENS)
    assert graph["multi_head_attention_forward"] == 1
    assert graph["_native_multi_head_attention"] == 0


class Exported(nn.Module):
    def __init__(self, **keywords):
        super().__init__()
        self.encoder = encoder()
        self.keywords = keywords

    def forward(self, x):
        return self.encoder(x, **self.keywords)


@pytest.mark.parametrize(
    "strict, grad, fused", [(True, False, 2), (True, True, 0), (False, False, 0), (False, True, 0)]
)
def test_export_keeps_the_fused_op_only_when_strict_and_without_grad(strict, grad, fused):
    with torch.set_grad_enabled(grad):
        program = torch.export.export(Exported().eval(), (TOKENS,), strict=strict)
    graph = calls(program.graph)
    assert graph[FUSED + ".default"] == fused
    assert graph["scaled_dot_product_attention.default"] == 2 - fused


def test_fake_tensors_take_dynamic_sizes_through_both_fused_ops():
    dynamic = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}

    class Fused(nn.Module):
        def forward(self, x):
            layer = Layer()
            return layer(Heads()(x)[0])

    program = torch.export.export(Fused(), (torch.randn(3, 4, EMBED),), dynamic_shapes=(dynamic,))
    graph = calls(program.graph)
    assert graph[FUSED + ".default"] == graph["_native_multi_head_attention.default"] == 1
    assert len(program.range_constraints) == 2


def aot_calls(function, *arguments):
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    graphs = []

    def compiler(module, _):
        graphs.append(calls(module.graph))
        return make_boxed_func(module.forward)

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=compiler, inference_compiler=compiler)
    with torch.no_grad():
        torch.compile(function, backend=backend)(*arguments)
    (graph,) = graphs
    return graph


def test_which_form_of_sdpa_autograd_tracing_gives():
    q, k, v = qkv()
    assert aot_calls(sdpa, q, k, v)["_scaled_dot_product_flash_attention_for_cpu.default"] == 1
    masked = aot_calls(sdpa, q, k, v, FULLY_MASKED_ROW)
    assert masked["_scaled_dot_product_flash_attention_for_cpu.default"] == 1
    assert masked["where.self"] == 1
    spelled = aot_calls(sdpa, q[0], k[0], v[0])
    assert (
        spelled["_safe_softmax.default"] == 1
        and spelled["mul.Scalar"] == spelled["bmm.default"] == 2
    )
    assert aot_calls(sdpa, q[0, 0], k[0, 0], v[0, 0])["mm.default"] == 2
