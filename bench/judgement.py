"""What Unfuse must reach, and whether it did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .results import EAGERS, CaseResult

_POINTS = ("encoder/", "vit_b_16/", "bert_base/", "minilm/")
NOT_SLOWER = 0.97
_LONG = 2048

Results = dict[str, CaseResult]


@dataclass(frozen=True)
class Verdict:
    requirement: str
    #: None: nothing was measured that tells.
    passed: bool | None
    detail: str

    @property
    def word(self) -> str:
        return {True: "PASS", False: "MISS", None: "----"}[self.passed]


@dataclass(frozen=True)
class Point:
    """A case, a number for it, and what to say about that."""

    name: str
    value: float
    what: str = ""


def judge(results: Results, *, has_amx: bool) -> list[Verdict]:
    verdicts = [
        _at_least(
            f"not slower than the best peer ({NOT_SLOWER:.2f}), through torch.compile",
            NOT_SLOWER,
            _against_best_peer(results, CaseResult.ours),
        ),
        _at_least(
            f"not slower than the best peer ({NOT_SLOWER:.2f}), by the C++ command",
            NOT_SLOWER,
            _against_best_peer(results, _command),
        ),
        _at_least(
            "1.2 times as fast as eager, the faster of both, at float32",
            1.2,
            _against_eager(results, "/float32/"),
        ),
        _at_least(
            f"2 times as fast as eager's fast path at length {_LONG} and above, float32",
            2,
            _against_fast_path(results),
        ),
    ]
    if not has_amx:
        verdicts.append(
            _at_least(
                "1.5 times as fast as eager in 16 bit, without AMX",
                1.5,
                [
                    *_against_eager(results, "/bfloat16/"),
                    *_against_eager(results, "/float16/"),
                ],
            )
        )
    return [
        *verdicts,
        _at_least(
            "0.75 of the arithmetic limit, whole model: 8x128, 4096 and above (goal: 0.85)",
            0.75,
            _shares(results, _compute_bound),
        ),
        _at_least(
            "0.75 of the arithmetic limit, attention alone: 1024 and above (goal: 0.80)",
            0.75,
            _shares(results, lambda name: name.startswith("attention/") and "/none" in name),
        ),
        _at_most(
            "causal attention takes at most 0.6 of the time at 4096",
            0.6,
            _pair(results, "attention/1x4096/float32/causal", "attention/1x4096/float32/none"),
        ),
        _at_most(
            "half padding takes at most 0.6 of the time at 1024",
            0.6,
            [
                *_pair(results, "encoder/1x1024/float32/padding", "encoder/1x1024/float32/none"),
                *_pair(results, "pooled/1x1024/float32/padding", "pooled/1x1024/float32/none"),
            ],
        ),
        *_memory(results),
        _at_most(
            "a one-op graph costs at most 30 us over torch.compile(backend='eager')",
            30,
            _call_overhead(results, "call/one-op"),
        ),
        _reported(
            "the same with 200 parameters whose freshness is checked, us (reported)",
            _call_overhead(results, "call/200-parameters"),
        ),
        _at_most(
            "ViT-B/16 compiles in under a second from the graph, packing included",
            1,
            _compile_seconds(results),
        ),
        _at_most("a new length costs at most 5 ms", 5, _new_length(results)),
    ]


# --- Verdicts over points


def _at_least(requirement: str, bound: float, points: list[Point]) -> Verdict:
    return _verdict(requirement, points, lambda value: value >= bound, min)


def _at_most(requirement: str, bound: float, points: list[Point]) -> Verdict:
    return _verdict(requirement, points, lambda value: value <= bound, max)


def _verdict(
    requirement: str,
    points: list[Point],
    holds: Callable[[float], bool],
    worst_of: Callable[..., Point],
) -> Verdict:
    if not points:
        return Verdict(requirement, None, "not measured")
    missed = [point for point in points if not holds(point.value)]
    worst = worst_of(points, key=lambda point: point.value)
    told = _told(worst)
    if len(points) > 1:
        told = f"{len(points) - len(missed)} of {len(points)} points; worst: {told}"
    return Verdict(requirement, not missed, told)


def _reported(requirement: str, points: list[Point]) -> Verdict:
    return Verdict(requirement, None, "; ".join(map(_told, points)) or "not measured")


def _told(point: Point) -> str:
    what = f" ({point.what})" if point.what else ""
    return f"{point.value:.3g} at {point.name}{what}"


# --- Points


def _command(result: CaseResult) -> str | None:
    return "unfuse-command" if result.usable(("unfuse-command",)) else None


def _points(results: Results) -> Iterator[CaseResult]:
    return (result for result in results.values() if result.name.startswith(_POINTS))


def _against_best_peer(results: Results, choose: Callable[[CaseResult], str | None]) -> list[Point]:
    found = []
    for result in _points(results):
        ours = choose(result)
        best = result.best_peer(ours) if ours else None
        if best is not None:
            found.append(Point(result.name, best[1], best[0]))
    return found


def _against_eager(results: Results, part: str) -> list[Point]:
    found = []
    for result in _points(results):
        ours = result.ours()
        if ours is None or part not in result.name:
            continue
        ratios = [
            (ratio, eager)
            for eager in result.usable(EAGERS)
            if (ratio := result.ratio(eager, ours)) is not None
        ]
        if ratios:
            found.append(Point(result.name, *min(ratios)))
    return found


def _length(name: str) -> int:
    return int(name.split("/")[1].split("x")[1])


def _against_fast_path(results: Results) -> list[Point]:
    found = []
    for result in results.values():
        is_asked = result.name.startswith("encoder/") and "/float32/" in result.name
        ours = result.ours()
        if not is_asked or _length(result.name) < _LONG or ours is None:
            continue
        if result.usable(("eager",)) and (ratio := result.ratio("eager", ours)) is not None:
            found.append(Point(result.name, ratio))
    return found


def _compute_bound(name: str) -> bool:
    if not name.startswith("encoder/") or not name.endswith("/float32/none"):
        return False
    return "/8x128/" in name or _length(name) >= 4096


def _shares(results: Results, is_asked: Callable[[str], bool]) -> list[Point]:
    return [
        Point(result.name, result.arithmetic_share(ours))
        for result in results.values()
        if is_asked(result.name) and (ours := result.ours()) is not None
    ]


def _pair(results: Results, less: str, whole: str) -> list[Point]:
    """How long ours takes for `less`, as a part of what it takes for `whole`."""
    both = [results.get(less), results.get(whole)]
    parts = [(one, one.ours()) for one in both if one is not None]
    if len(parts) < 2 or any(ours is None for _, ours in parts):
        return []
    (one, ours), (other, other_ours) = parts
    assert ours is not None and other_ours is not None
    return [Point(less, one.normalized(ours) / other.normalized(other_ours), ours)]


def _memory(results: Results) -> list[Verdict]:
    """Peaks above that at length 16, where there is next to nothing but the weights; inputs and
    outputs taken off."""
    peaks = {}
    for length in (16, 4096, 15000):
        result = results.get(f"encoder/1x{length}/float32/none")
        if result is not None and result.usable(("unfuse",)):
            peak = result.engines["unfuse"].peak_bytes
            if peak:
                peaks[length] = (peak - result.work.io_bytes) / 1e6
    above = {length: peak - peaks[16] for length, peak in peaks.items() if 16 in peaks}
    long = [Point("length 15000", above[15000])] if 15000 in above else []
    growth = []
    if 15000 in above and above.get(4096, 0) > 0:
        growth = [Point("length 15000", above[15000] / above[4096] / (15000 / 4096))]
    return [
        _at_most("at most 300 MB of memory above weights, inputs and outputs", 300, long),
        _at_most("memory grows linearly: at most 1.1 times in proportion to 4096", 1.1, growth),
    ]


def _call_overhead(results: Results, name: str) -> list[Point]:
    """Microseconds."""
    result = results.get(name)
    if result is None or len(result.usable(("unfuse", "dynamo-eager"))) < 2:
        return []
    extra = result.compare("unfuse", "dynamo-eager", lambda ours, other: ours - other)
    return [] if extra is None else [Point(name, 1e6 * extra)]


def _compile_seconds(results: Results) -> list[Point]:
    name = "vit_b_16/1x197/float32/none"
    result = results.get(name)
    if result is None or not result.usable(("unfuse",)):
        return []
    parts = result.engines["unfuse"].parts
    if "compile graph" not in parts or "first call of graph" not in parts:
        return []
    first_call = parts["first call of graph"] - result.median("unfuse")
    return [Point(name, parts["compile graph"] + first_call)]


def _new_length(results: Results) -> list[Point]:
    """Milliseconds."""
    new, same = results.get("call/new-length"), results.get("call/seen-length")
    if new is None or same is None or not (new.usable(("unfuse",)) and same.usable(("unfuse",))):
        return []
    return [Point(new.name, 1e3 * (new.median("unfuse") - same.median("unfuse")))]
