"""Call signatures of exported programs: the structure of arguments and results.

torch.export writes it as JSON (`torch.utils._pytree.treespec_dumps`). Tuples, lists, dicts and
namedtuples are rebuilt from that alone. Of a class of the model's own (a dataclass, a ModelOutput)
the file tells the fields: an argument is anything that has them, a result is a Record. A class
whose fields the file does not tell is refused. PyTorch is not needed here.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import Error

_PROTOCOL = 1


class Record(dict[str, Any]):
    """What stands for an object of the model's own class: a dict whose entries are attributes too.
    A field that the model left at None is there, as None."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this result has no field {name!r}, only {list(self)}") from None


@dataclass(frozen=True)
class Spec:
    """A leaf when `kind` is None."""

    kind: str | None
    keys: list[Any]  #: of dicts: their keys; of namedtuples and records: the fields
    children: list[Spec]
    rebuild: Callable[[list[Any]], Any] | None = None

    def leaf_count(self) -> int:
        return 1 if self.kind is None else sum(child.leaf_count() for child in self.children)

    def places(self, outer: str = "") -> list[str]:
        """Where each leaf is: "logits", "layers[0]"; empty for a leaf alone."""
        if self.kind is None:
            return [outer]
        if self.keys:
            inner = [f"{outer}.{key}" if outer else str(key) for key in self.keys]
        else:
            inner = [f"{outer}[{index}]" for index in range(len(self.children))]
        return [place for child, name in zip(self.children, inner) for place in child.places(name)]

    def flatten(self, value: Any, where: str) -> list[Any]:
        """The leaves of a value that has this structure. Throws Error saying where it has not."""
        if self.kind is None:
            return [value]
        parts = self._parts(value, where)
        return [
            leaf
            for child, (part, place) in zip(self.children, parts)
            for leaf in child.flatten(part, place)
        ]

    def _parts(self, value: Any, where: str) -> list[tuple[Any, str]]:
        if self.kind in _MAPPINGS:
            return self._mapping_parts(value, where)
        if self.kind not in _SEQUENCES:
            return self._record_parts(value, where)
        wanted = _SEQUENCES[self.kind]
        if not isinstance(value, wanted) or len(value) != len(self.children):
            raise Error(
                f"expected a {self.kind.rpartition('.')[2]} of {len(self.children)}, "
                f"got {_shape(value)}",
                where=where,
            )
        return [(part, f"{where}[{index}]") for index, part in enumerate(value)]

    def _mapping_parts(self, value: Any, where: str) -> list[tuple[Any, str]]:
        if not isinstance(value, Mapping) or set(value) != set(self.keys):
            raise Error(f"expected a dict of {self.keys}, got {_shape(value)}", where=where)
        return [(value[key], f"{where}[{key!r}]") for key in self.keys]

    def unflatten(self, leaves: Iterator[Any]) -> Any:
        if self.kind is None:
            return next(leaves)
        assert self.rebuild is not None
        return self.rebuild([child.unflatten(leaves) for child in self.children])

    def _record_parts(self, value: Any, where: str) -> list[tuple[Any, str]]:
        if isinstance(value, Mapping):
            return self._mapping_parts(value, where)
        missing = [key for key in self.keys if not hasattr(value, key)]
        if missing:
            raise Error(
                f"expected a {self.kind}, or a dict of {self.keys}, got {_shape(value)}",
                where=where,
            )
        return [(getattr(value, key), f"{where}.{key}") for key in self.keys]


_MAPPINGS = {"builtins.dict", "collections.OrderedDict", "collections.defaultdict"}
_SEQUENCES: dict[str, Any] = {
    "builtins.tuple": tuple,
    "builtins.list": list,
    "collections.deque": collections.deque,
    "collections.namedtuple": tuple,
}


def _shape(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict of {list(value)}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"


def parse(text: str, namedtuple_fields: Mapping[str, Sequence[str]]) -> Spec:
    """Reads what treespec_dumps wrote. Throws Error for containers that need a class of the
    model's own."""
    protocol, root = json.loads(text)
    if protocol != _PROTOCOL:
        raise Error(f"a call signature of protocol {protocol}", "invalid_file")
    return _node(root, namedtuple_fields)


def _node(node: dict[str, Any], fields: Mapping[str, Sequence[str]]) -> Spec:
    kind, context = node["type"], node["context"]
    if kind is None:
        return Spec(None, [], [])
    children = [_node(child, fields) for child in node["children_spec"]]
    if kind == "builtins.tuple":
        return Spec(kind, [], children, tuple)
    if kind == "builtins.list":
        return Spec(kind, [], children, list)
    if kind == "collections.deque":
        length = json.loads(context)
        return Spec(kind, [], children, lambda parts: collections.deque(parts, length))
    if kind in _MAPPINGS:
        return _mapping(kind, context, children)
    if kind == "collections.namedtuple":
        return _namedtuple(context, children, fields)
    names = _field_names(context, len(children))
    if names is not None:
        filled, empty = names
        return Spec(
            kind, filled, children, lambda parts: Record(zip(filled, parts), **dict.fromkeys(empty))
        )
    raise Error(
        f"the model's call signature holds a {kind}, which only its own Python class can make",
        "unsupported",
        hint="export a wrapper that takes and returns tuples, lists and dicts",
    )


def _mapping(kind: str, context: Any, children: list[Spec]) -> Spec:
    if kind == "collections.defaultdict":
        # A result is a plain dict: its factory would be code of the model's own.
        keys = _keys(context["dict_context"])
        return Spec(kind, keys, children, lambda parts: dict(zip(keys, parts)))
    keys = _keys(json.loads(context))
    make = dict if kind == "builtins.dict" else collections.OrderedDict
    return Spec(kind, keys, children, lambda parts: make(zip(keys, parts)))


def _field_names(context: Any, count: int) -> tuple[list[str], list[str]] | None:
    """The fields that the children are of, and those that were None; None when the file does not
    tell. torch.export.register_dataclass writes both lists, transformers' ModelOutput the first."""
    try:
        names = json.loads(context)
    except (TypeError, ValueError):
        return None
    filled, empty = names if _is_list_of(names, list) and len(names) == 2 else (names, [])
    if not _is_list_of(filled, str) or not _is_list_of(empty, str):
        return None
    return (filled, empty) if len(filled) == count else None


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(element, kind) for element in value)


def _keys(keys: list[Any]) -> list[Any]:
    """JSON has no tuples: a key that became a list was one."""
    return [tuple(key) if isinstance(key, list) else key for key in keys]


def _namedtuple(context: str, children: list[Spec], fields: Mapping[str, Sequence[str]]) -> Spec:
    known = fields.get(context)
    if known is None or len(known) != len(children):
        raise Error(
            f"the model's call signature holds a namedtuple {context} whose fields the file does "
            "not name",
            "unsupported",
            hint="export a wrapper that takes and returns tuples, lists and dicts",
        )
    name = context.rpartition(".")[2]
    made = collections.namedtuple(name, known, rename=True)  # type: ignore[misc]
    return Spec("collections.namedtuple", list(known), children, lambda parts: made(*parts))
