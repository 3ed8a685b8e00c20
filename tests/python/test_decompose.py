"""unfuse.decompose and unfuse.decomposition_table: torch's own objects in and out."""

import warnings

import pytest
import torch
import unfuse
from accuracy import assert_as_accurate
from torch import nn
from torch.export import Dim, default_decompositions, export

ENCODER_LAYER = torch.ops.aten._transformer_encoder_layer_fwd.default
ATTENTION = torch.ops.aten._native_multi_head_attention.default
SDPA = torch.ops.aten.scaled_dot_product_attention.default
FUSED = {ENCODER_LAYER, ATTENTION}


def ops(program):
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


def is_core(program):
    return all(torch.Tag.core in op.tags for op in ops(program) if hasattr(op, "tags"))


def encoder(layers=2, width=16, **options):
    layer = nn.TransformerEncoderLayer(width, 2, 2 * width, batch_first=True, **options)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).eval()


def exported(model, *args, **options):
    program = export(model, args, strict=True, **options)
    assert FUSED & set(ops(program))
    return program


class Attention(nn.Module):
    """The op itself, with a mask."""

    def __init__(self, width=16, heads=2, mask_type=1, need_weights=False, average=True):
        super().__init__()
        self.inner = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mask_type, self.need_weights, self.average = mask_type, need_weights, average

    def forward(self, x, mask=None):
        inner = self.inner
        output, weights = torch._native_multi_head_attention(
            x,
            x,
            x,
            inner.embed_dim,
            inner.num_heads,
            inner.in_proj_weight,
            inner.in_proj_bias,
            inner.out_proj.weight,
            inner.out_proj.bias,
            mask,
            self.need_weights,
            self.average,
            self.mask_type if mask is not None else None,
        )
        return (output, weights) if self.need_weights else output


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_weights_and_names_are_the_programs_own(to):
    model, x = encoder(), torch.randn(3, 5, 16)
    program = exported(model, x)
    before = str(program.graph)
    opened = unfuse.decompose(program, to=to)
    assert str(program.graph) == before
    assert not FUSED & set(ops(opened))
    assert ops(opened).count(SDPA) == (2 if to == "sdpa" else 0)
    assert to == "sdpa" or is_core(opened)
    for name, weight in program.state_dict.items():
        assert opened.state_dict[name] is weight
    assert opened.module_call_graph is program.module_call_graph
    assert opened.graph_signature.input_specs == program.graph_signature.input_specs
    layers = {
        path for n in opened.graph.nodes for path, _ in n.meta.get("nn_module_stack", {}).values()
    }
    assert any(path.endswith("layers.1") for path in layers)
    traces = {node.meta.get("stack_trace") for node in program.graph.nodes}
    assert {node.meta.get("stack_trace") for node in opened.graph.nodes} <= traces != {None}
    torch.testing.assert_close(opened.module()(x), model(x))


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_accuracy(to):
    model, x = encoder(width=128), torch.randn(8, 64, 128)
    opened = unfuse.decompose(exported(model, x), to=to).module()

    def inputs(seed):
        return (torch.randn(x.shape, generator=torch.Generator().manual_seed(seed)),)

    assert_as_accurate(opened, model, inputs, seeds=20)


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_symbolic_sizes(to):
    model, x = encoder(), torch.randn(3, 5, 16)
    sizes = ({0: Dim("batch", max=64), 1: Dim("length", min=2, max=512)},)
    program = exported(model, x, dynamic_shapes=sizes)
    opened = unfuse.decompose(program, to=to)
    assert str(opened.range_constraints) == str(program.range_constraints)
    for batch, length in ((1, 2), (2, 7), (64, 30)):
        x = torch.randn(batch, length, 16)
        torch.testing.assert_close(opened.module()(x), model(x))
    with pytest.raises(Exception, match="512|length"):
        opened.module()(torch.randn(2, 600, 16))


def fully_masked():
    mask = torch.zeros(3, 5, dtype=torch.bool)
    mask[1] = True
    mask[2, 3:] = True
    return mask


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_fully_masked_rows_are_what_the_op_gives(to):
    model, x, mask = Attention(), torch.randn(3, 5, 16), fully_masked()
    program = exported(model, x, mask)
    expected = model(x, mask)
    assert expected[1].isnan().all() and not expected[0].isnan().any()
    torch.testing.assert_close(
        unfuse.decompose(program, to=to).module()(x, mask), expected, equal_nan=True
    )
    plain = unfuse.decompose(program, to=to, sdpa_semantics=True).module()(x, mask)
    assert plain.isfinite().all()
    torch.testing.assert_close(plain[[0, 2]], expected[[0, 2]])


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_float_masks(to, caplog):
    model, x = Attention(), torch.randn(3, 5, 16)
    mask = torch.where(torch.rand(3, 5) < 0.3, 0.5, 0.0)
    program = exported(model, x, mask)
    torch.testing.assert_close(unfuse.decompose(program, to=to).module()(x, mask), model(x, mask))
    caplog.set_level("INFO", "unfuse")
    plain = unfuse.decompose(program, to=to, sdpa_semantics=True).module()(x, mask)
    assert "added to the scores" in caplog.text
    inner = model.inner
    parts = nn.functional.linear(x, inner.in_proj_weight, inner.in_proj_bias).chunk(3, -1)
    heads = [part.unflatten(-1, (2, 8)).transpose(1, 2) for part in parts]
    added = nn.functional.scaled_dot_product_attention(*heads, attn_mask=mask[:, None, None])
    torch.testing.assert_close(plain, inner.out_proj(added.transpose(1, 2).flatten(2)))


def test_only_and_strict():
    model, x = nn.Sequential(encoder(1), Attention()).eval(), torch.randn(3, 5, 16)
    program = exported(model, x)
    with pytest.warns(UserWarning, match="left 1 aten._native_multi_head_attention.default"):
        opened = unfuse.decompose(program, only="_transformer_encoder_layer_fwd")
    assert ATTENTION in ops(opened) and ENCODER_LAYER not in ops(opened)
    with pytest.raises(unfuse.Error, match="_native_multi_head_attention.*not asked for"):
        unfuse.decompose(program, only=["aten._transformer_encoder_layer_fwd.default"], strict=True)
    with pytest.raises(unfuse.Error, match="'relu' is no op that can be opened"):
        unfuse.decompose(program, only=["relu"])
    with pytest.raises(unfuse.Error, match="expected an ExportedProgram, not str"):
        unfuse.decompose("model.pt2")
    with pytest.raises(unfuse.Error, match="to cannot be 'onnx'"):
        unfuse.decompose(program, to="onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = unfuse.decompose(program, strict=True)
    torch.testing.assert_close(opened.module()(x), model(x))


class Carries(nn.Module):
    """Mutations around a fused op, whose mask is mutated too."""

    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x, hidden):
        self.calls.add_(1)
        mask = torch.zeros(3, 5)
        mask.masked_fill_(hidden, float("-inf"))
        mask[:, 0] = 0
        y = self.attention(x, mask)
        x.mul_(2)
        return {"y": y, "x": x + self.calls}


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_mutations(to):
    x, hidden = torch.randn(3, 5, 16), fully_masked()
    program, other_program = (exported(Carries().eval(), x.clone(), hidden) for _ in range(2))
    other_program.module().load_state_dict(program.module().state_dict())
    opened = unfuse.decompose(other_program, to=to)
    ours, theirs = opened.module(), program.module()
    for _ in range(2):
        mine, other = x.clone(), x.clone()
        torch.testing.assert_close(ours(mine, hidden), theirs(other, hidden))
        assert torch.equal(mine, other)
    assert torch.equal(ours.calls, theirs.calls)


@torch.library.custom_op("unfuse_decompose_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@twice.register_fake
def _(x):
    return torch.empty_like(x)


class WithCustomOp(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        y = self.attention(twice(x))
        with torch.no_grad():
            return twice(y) + self.attention(y)


def test_opaque_ops_and_regions_stay():
    model, x = WithCustomOp(), torch.randn(3, 5, 16)
    program = exported(model, x)
    opened = unfuse.decompose(program)
    assert ops(opened).count(torch.ops.unfuse_decompose_test.twice.default) == ops(program).count(
        torch.ops.unfuse_decompose_test.twice.default
    )
    torch.testing.assert_close(opened.module()(x), model(x))


class SizesOfElements(nn.Module):
    """As many rows as the mask says, and numbers that count down."""

    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x, mask):
        y = self.attention(x)
        falling = torch.arange(x.shape[0], 0, -1)
        return y[mask], y * falling[:, None, None]


@pytest.mark.parametrize("to", ["sdpa", "core"])
def test_sizes_that_no_rule_tells(to):
    model, x = SizesOfElements().eval(), torch.randn(3, 5, 16)
    arguments = x, torch.rand(3, 5) > 0.5
    sizes = {0: Dim.DYNAMIC}
    program = exported(model, *arguments, dynamic_shapes=(sizes, sizes))
    opened = unfuse.decompose(program, to=to)
    assert not FUSED & set(ops(opened))
    other = torch.randn(4, 5, 16), torch.rand(4, 5) > 0.5
    for given in (arguments, other):
        torch.testing.assert_close(opened.module()(*given), model(*given))


@pytest.mark.parametrize("to", ["sdpa", "core"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_table_in_run_decompositions(to, dynamic):
    model, x = encoder(), torch.randn(3, 5, 16)
    sizes = ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},) if dynamic else None
    program = exported(model, x, dynamic_shapes=sizes)
    opened = program.run_decompositions(unfuse.decomposition_table(to))
    assert not FUSED & set(ops(opened))
    core = program.run_decompositions(
        {**default_decompositions(), **unfuse.decomposition_table(to)}
    )
    assert is_core(core)
    for other in [x] + [torch.randn(2, 9, 16)] * dynamic:
        torch.testing.assert_close(opened.module()(other), model(other))
        torch.testing.assert_close(core.module()(other), model(other))


@pytest.mark.parametrize("need_weights,average", [(False, True), (True, True), (True, False)])
def test_table_replays_what_the_passes_build(need_weights, average):
    model, x, mask = (
        Attention(need_weights=need_weights, average=average),
        torch.randn(3, 5, 16),
        fully_masked(),
    )
    program = exported(model, x, mask)
    by_table = program.run_decompositions(unfuse.decomposition_table())
    by_passes = unfuse.decompose(program).run_decompositions({})
    assert ops(by_table) == ops(by_passes)
    for mine, theirs in zip(by_table.module()(x, mask), by_passes.module()(x, mask)):
        assert torch.equal(mine.nan_to_num(), theirs.nan_to_num())


def test_table_in_aot_autograd():
    from functorch.compile import aot_module_simplified, make_boxed_func

    seen = []

    def compiler(module, inputs):
        seen.extend(node.target for node in module.graph.nodes)
        return make_boxed_func(module.forward)

    def backend(module, inputs):
        return aot_module_simplified(
            module, inputs, fw_compiler=compiler, decompositions=unfuse.decomposition_table()
        )

    model, x = encoder(), torch.randn(3, 5, 16)
    result = torch.compile(model, backend=backend)(x)
    assert torch.ops.aten.addmm.default in seen and not FUSED & set(seen)
    torch.testing.assert_close(result, model(x))
