"""The catalogue's rows against torch's own schemas."""

import op_samples
import pytest

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
