"""The one exception type."""

from __future__ import annotations


class Error(RuntimeError):
    """Says what is wrong, where, and what to do.

    ``kind`` is "invalid_argument" (a caller passed something wrong), "invalid_file" (damaged, of
    another kind, or of a version that is not read), "unsupported" (valid, but nothing that this
    build can run) or "internal" (a bug in unfuse). ``where`` and ``hint`` may be empty.
    """

    def __init__(
        self, message: str, kind: str = "invalid_argument", where: str = "", hint: str = ""
    ) -> None:
        text = f"{where}: {message}" if where else message
        super().__init__(f"{text}; {hint}" if hint else text)
        self.message = message
        self.kind = kind
        self.where = where
        self.hint = hint


class EagerFallbackWarning(UserWarning):
    """A call goes to eager PyTorch, because a gradient may be asked for."""
