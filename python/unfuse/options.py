"""Options of the backend."""

from __future__ import annotations

import dataclasses
from typing import Any

from .errors import Error

_CHOICES = {"fully_masked_rows": ("op", "zero"), "padded_rows": ("compiled", "zero")}


@dataclasses.dataclass(frozen=True)
class Options:
    #: True: through AOTAutograd's inference path. False: the dynamo graph is traced to ATen
    #: directly, and made functional by our own pass.
    use_aot: bool = True
    #: Raise when anything is left to torch, listing all of it.
    strict: bool = False
    #: What attention gives for a row whose keys are all masked: "op", what the op in the graph
    #: gives (NaN for the fused ops, zero for SDPA), or "zero".
    fully_masked_rows: str = "op"
    #: Padded rows of an nn.TransformerEncoder that eager would run with nested tensors:
    #: "compiled" computes them, as every compiled graph does; "zero" gives eager's zeros.
    padded_rows: str = "compiled"
    #: Log a report of every graph.
    verbose: bool = False

    @classmethod
    def parse(cls, given: dict[str, Any] | None) -> Options:
        """Throws Error for an option or a value that there is not."""
        known = {field.name: field.default for field in dataclasses.fields(cls)}
        for name, value in (given or {}).items():
            if name not in known:
                raise Error(
                    f"the backend has no option {name!r}", hint=f"there are {', '.join(known)}"
                )
            choices = _CHOICES.get(name, (True, False))
            if not any(value is choice or value == choice for choice in choices) or (
                isinstance(known[name], bool) and not isinstance(value, bool)
            ):
                raise Error(
                    f"the option {name} cannot be {value!r}",
                    hint=f"it is {' or '.join(repr(choice) for choice in choices)}",
                )
        return cls(**(given or {}))
