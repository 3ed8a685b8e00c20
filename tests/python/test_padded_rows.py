"""The note about padded rows, against what eager and the graph really give there."""

import pytest
import torch
import unfuse
from torch import nn

BATCH, LENGTH, WIDTH = 3, 5, 16


class Model(nn.Module):
    def __init__(self, heads=2, norm_first=False, batch_first=True, **options):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            WIDTH, heads, 32, norm_first=norm_first, batch_first=batch_first
        )
        self.parts = nn.ModuleDict({"encoder": nn.TransformerEncoder(layer, 2, **options)})

    def forward(self, x, padding, mask):
        encoder = self.parts["encoder"]
        return encoder(x, mask=mask, src_key_padding_mask=padding, is_causal=False)


def padding_mask():
    mask = torch.zeros(BATCH, LENGTH, dtype=torch.bool)
    mask[1, 3:] = True
    mask[2, 1:] = True
    return mask


def exported(model, args, form):
    # Under no_grad dynamo records the fast path. All other forms spell the layers out.
    with torch.set_grad_enabled(form == "strict with gradients"):
        program = torch.export.export(model, args, strict=form.startswith("strict"))
        return program.run_decompositions() if form == "core" else program


def padded_rows_differ(model, program, args, batch_first):
    """Whether eager gives zeros at padded rows, and the exported graph does not."""
    rows = args[1] if batch_first else args[1].t()
    with torch.no_grad():
        eager, graph = model(*args)[rows], program.module()(*args)[rows]
    return bool((eager == 0).all()) and bool((graph != 0).any())


def padded_rows_notes(program, path):
    torch.export.save(program, path)
    return [note for note in unfuse.load(path).report.notes if "padded rows" in note]


FORMS = ["strict", "strict with gradients", "not strict", "core"]
ENCODERS = [
    {},
    {"norm_first": True},
    {"batch_first": False},
    {"heads": 1},
    {"enable_nested_tensor": True, "norm": nn.LayerNorm(WIDTH, bias=False)},
]


quiet = pytest.mark.filterwarnings(
    "ignore:enable_nested_tensor is True", "ignore:The PyTorch API of nested tensors"
)


def check_note(model, args, form, batch_first, path):
    """Returns whether there is one."""
    program = exported(model, args, form)
    notes = padded_rows_notes(program, path)
    differs = args[1] is not None and padded_rows_differ(model, program, args, batch_first)
    assert len(notes) == differs, notes
    assert all(note.startswith("parts.encoder: ") for note in notes)
    return differs


@quiet
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", ENCODERS, ids=lambda options: ",".join(options) or "default")
def test_an_exported_encoder_has_the_note_where_it_differs_from_eager(options, form, tmp_path):
    batch_first = options.get("batch_first", True)
    x = torch.randn(BATCH, LENGTH, WIDTH) if batch_first else torch.randn(LENGTH, BATCH, WIDTH)
    args = (x, padding_mask(), None)
    noted = check_note(Model(**options).eval(), args, form, batch_first, tmp_path / "model.pt2")
    assert noted == (not {"norm_first", "batch_first", "heads"} & set(options))


@quiet
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("padded", [False, True])
def test_other_masks_have_no_note(padded, form, tmp_path):
    first_key_hidden = torch.zeros(LENGTH, LENGTH, dtype=torch.bool)
    first_key_hidden[1:, 0] = True
    args = (
        torch.randn(BATCH, LENGTH, WIDTH),
        padding_mask() if padded else None,
        first_key_hidden,
    )
    assert not check_note(Model().eval(), args, form, True, tmp_path / "model.pt2")


def loaded_with_zeros(model, args, form, path):
    torch.export.save(exported(model, args, form), path)
    return unfuse.load(path, padded_rows="zero")


@quiet
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", ENCODERS, ids=lambda options: ",".join(options) or "default")
def test_a_file_gives_the_zeros_that_eager_gives(options, form, tmp_path):
    batch_first = options.get("batch_first", True)
    x = torch.randn(BATCH, LENGTH, WIDTH) if batch_first else torch.randn(LENGTH, BATCH, WIDTH)
    model, args = Model(**options).eval(), (x, padding_mask(), None)
    program = loaded_with_zeros(model, args, form, tmp_path / "model.pt2")
    torch.testing.assert_close(program(*args), model(*args), rtol=1e-5, atol=1e-5)
    noted = [note for note in program.report.notes if note.endswith("so does this graph")]
    assert len(noted) == (not {"norm_first", "batch_first", "heads"} & set(options))
    if (
        form != "core"
    ):  # whose rows of all sequences are one dimension: they are computed, and zeroed
        assert any("padded tokens" in note for note in program.report.notes) == bool(noted)


@quiet
@pytest.mark.parametrize("form", FORMS)
def test_a_file_computes_rows_whose_padding_is_not_at_the_end(form, tmp_path):
    model, args = Model().eval(), (torch.randn(BATCH, LENGTH, WIDTH), padding_mask().flip(1), None)
    program = loaded_with_zeros(model, args, form, tmp_path / "model.pt2")
    torch.testing.assert_close(program(*args), model(*args), rtol=1e-5, atol=1e-5)


class Twice(Model):
    def forward(self, x, padding, mask):
        once = super().forward(x, padding, mask)
        return once, super().forward(once.flip(2), padding, mask)


@quiet
@pytest.mark.parametrize("form", FORMS)
def test_an_encoder_that_is_called_twice(form, tmp_path):
    model, args = Twice().eval(), (torch.randn(BATCH, LENGTH, WIDTH), padding_mask(), None)
    path = tmp_path / "model.pt2"
    if form != "strict":
        with pytest.raises(unfuse.Error, match="called more than once"):
            loaded_with_zeros(model, args, form, path)
        return
    for got, wanted in zip(loaded_with_zeros(model, args, form, path)(*args), model(*args)):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)


def test_explain_and_exported_programs_say_it_in_the_same_words(tmp_path):
    model, args = Model().eval(), (torch.randn(BATCH, LENGTH, WIDTH), padding_mask(), None)
    (of_file,) = padded_rows_notes(exported(model, args, "strict"), tmp_path / "model.pt2")
    for padded_rows in ("compiled", "zero"):
        report = unfuse.explain(model, *args, options={"padded_rows": padded_rows})
        (of_graph,) = (note for note in report.notes if "padded rows" in note)
        end = of_graph.index("padded rows,") + len("padded rows,")
        assert of_graph[:end] == of_file[:end]
        assert ('padded_rows="zero"' in of_graph) == (padded_rows == "compiled")
