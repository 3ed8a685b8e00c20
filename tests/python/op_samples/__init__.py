"""Random calls of the ops that have a result-type rule, and what real PyTorch makes of them.

The catalogue's rows name a rule each; ops of one rule take alike arguments, so that a sampler
serves a rule, not an op: each file here ends with its rules. A sample is a list of arguments in
schema order (defaults may be left out at the end), keyword arguments in a dict after them; tensors
are real, small and strided in every way that eager produces.
"""

from .catalogue import REPOSITORY, Row, catalogue_rows
from .drawing import SAMPLERS, Sample, draw, draw_call, run

__all__ = ["REPOSITORY", "SAMPLERS", "Row", "Sample", "catalogue_rows", "draw", "draw_call", "run"]
