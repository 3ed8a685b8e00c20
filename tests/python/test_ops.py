"""The catalogue's rows against torch's own schemas."""

import pathlib
import re

import op_samples
import pytest
import torch

ROWS = op_samples.catalogue_rows()


def test_rows_are_found():
    assert len(ROWS) > 600
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("family", sorted({row.family for row in ROWS}))
def test_schemas_are_those_of_torch(family):
    for row in ROWS:
        if row.family != family or not row.name.startswith("aten."):
            continue
        schema = str(row.overload._schema)
        assert row.schema == schema[schema.index("(") :], row.name


def test_core_aten_is_what_torch_tags():
    tagged = set()
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        packet = getattr(getattr(torch.ops, namespace), packet, None)
        op = getattr(packet, overload or "default", None)
        if namespace == "aten" and op is not None and torch.Tag.core in op.tags:
            tagged.add(str(op))
    source = (pathlib.Path(__file__).parents[2] / "src/ops/core_aten.cc").read_text()
    listed = re.findall(r'"(aten\.[^"]+)"', source)
    assert listed == sorted(tagged)
