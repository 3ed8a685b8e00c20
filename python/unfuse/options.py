"""Options of the backend."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .errors import Error

ARITHMETIC = ("fastest", "float32", "bfloat16")
_CHOICES = {
    "fully_masked_rows": ("op", "zero"),
    "padded_rows": ("compiled", "zero"),
    "arithmetic": ARITHMETIC,
}


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Throws Error unless the value is one of the choices, and of its type: 1 is not True."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise Error(
            f"{name} cannot be {value!r}",
            hint=f"it is {' or '.join(repr(choice) for choice in choices)}",
        )


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
    #: What 16-bit models multiply: "float32", "bfloat16" (those of bfloat16; an error where the
    #: machine cannot), or "fastest", what is faster on this machine. Sums are float32 in any case.
    arithmetic: str = "fastest"
    #: Log a report of every graph.
    verbose: bool = False

    @classmethod
    def parse(cls, given: Mapping[str, Any] | None) -> Options:
        """Throws Error for an option or a value that there is not."""
        if given is None:
            return cls()
        known = [field.name for field in dataclasses.fields(cls)]
        if not isinstance(given, Mapping):
            raise Error(
                f"expected the options as a dict, not {type(given).__name__}",
                hint=f"there are {', '.join(known)}",
            )
        for name, value in given.items():
            if name not in known:
                raise Error(
                    f"the backend has no option {name!r}", hint=f"there are {', '.join(known)}"
                )
            check_choice(f"the option {name}", value, _CHOICES.get(name, (True, False)))
        return cls(**given)
