"""Unfuse: opens the fused ops of PyTorch models, compiles the whole model, runs it on the CPU.

compiled = torch.compile(model, backend="unfuse")   # no import of unfuse is needed for this
print(unfuse.explain(model, *inputs))               # what becomes of the model
run = unfuse.load("model.pt2")                      # torch.export archives, with NumPy alone too
unfuse.export_onnx("model.pt2", "model.onnx")       # the same, opened, for other tools
"""

from __future__ import annotations

import importlib.util

# One process has one OpenMP runtime. PyTorch's wheel brings a copy of libgomp; loaded first, it
# serves oneDNN and our extension too, since they ask for the same name. Loaded second, there would
# be two, and each would spin on the cores that the other wants.
_has_torch = importlib.util.find_spec("torch") is not None
if _has_torch:
    import torch  # noqa: F401

from unfuse import _unfuse  # noqa: E402

from .errors import EagerFallbackWarning, Error  # noqa: E402
from .onnx_export import export_onnx  # noqa: E402
from .profile import Profile, profile  # noqa: E402
from .program import Program, load  # noqa: E402

__version__: str = _unfuse.version

if _has_torch:
    from .decompose import decompose
    from .decomposition_table import decomposition_table
    from .explain import explain
    from .parameters import refresh
else:

    def decompose(*args: object, **kwargs: object) -> None:
        raise Error("unfuse.decompose needs PyTorch", hint="pip install torch")

    def decomposition_table(*args: object, **kwargs: object) -> None:
        raise Error("unfuse.decomposition_table needs PyTorch", hint="pip install torch")

    def explain(*args: object, **kwargs: object) -> None:
        raise Error("unfuse.explain needs PyTorch", hint="pip install torch")

    def refresh(model: object) -> None:
        raise Error("unfuse.refresh needs PyTorch", hint="pip install torch")


__all__ = [
    "EagerFallbackWarning",
    "Error",
    "Profile",
    "Program",
    "decompose",
    "decomposition_table",
    "explain",
    "export_onnx",
    "load",
    "profile",
    "refresh",
]
