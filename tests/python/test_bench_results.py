"""Numbers, tables and verdicts of the benchmark, from results that are made up."""

import itertools
import json
import math

import pytest

from bench import judgement, machine, plan, plot, record, report
from bench.cases import Work
from bench.limits import Limits
from bench.results import CaseResult, EngineResult

LIMITS = Limits(100e9, 10e9)
MACHINE = machine.Machine("x86_64", 2, ("AVX2", "AVX-512"), 32 << 20, 23 << 30)


def case(name, flops=1e9, io_bytes=0, **seconds):
    """A result with the seconds of each round by engine; dashes in names are underscores."""
    engines = {
        engine.replace("_", "-"): EngineResult(
            list(times), [None if t is None else LIMITS for t in times]
        )
        for engine, times in seconds.items()
    }
    return CaseResult(name, Work(flops, bytes=1e6, io_bytes=io_bytes), engines)


def verdicts(*results, has_amx=False):
    found = judgement.judge({result.name: result for result in results}, has_amx=has_amx)
    return {one.requirement: one for one in found}


def verdict(part, *results, has_amx=False):
    found = [v for name, v in verdicts(*results, has_amx=has_amx).items() if part in name]
    assert len(found) == 1, part
    return found[0]


# --- Numbers


def test_medians_and_quartiles():
    result = case("c", eager=[5, 1, 2, 3, 4], unfuse=[7])
    assert result.median("eager") == 3
    assert result.quartiles("eager") == (2, 4)
    assert result.quartiles("unfuse") == (7, 7)


def test_a_ratio_is_the_median_over_rounds_that_both_were_in():
    # The machine slows down by ten: the ratios of rounds don't notice, that of medians would.
    result = case("c", eager=[2, 20, 300, None], unfuse=[1, 10, 100, 1])
    assert result.ratio("eager", "unfuse") == 2
    assert case("c", eager=[1, None], unfuse=[None, 1]).ratio("eager", "unfuse") is None


def test_shares_are_of_the_limit_measured_in_the_same_round():
    result = case("c", flops=1e9, unfuse=[0.02, 0.04])
    result.engines["unfuse"].limits = [Limits(100e9, 1e9), Limits(50e9, 1e9)]
    assert result.arithmetic_share("unfuse") == pytest.approx(0.5)
    assert result.memory_share("unfuse") == pytest.approx((1e6 / 1e9 / 0.02 + 1e-3 / 0.04) / 2)
    assert result.normalized("unfuse") == pytest.approx(2e9)


def test_the_best_peer_is_the_fastest_one_that_counts():
    result = case("c", eager=[4], inductor=[3], openvino=[1], unfuse=[2], dynamo_eager=[0.1])
    result.engines["openvino"].failure = "its result differs"
    assert result.best_peer("unfuse") == ("inductor", 1.5)
    assert case("c", unfuse=[2]).best_peer("unfuse") is None


def test_ours_is_the_faster_way_through_torch_compile():
    result = case("c", unfuse=[2], unfuse_zero_rows=[1], unfuse_command=[0.5])
    assert result.ours() == "unfuse-zero-rows"
    assert case("c", eager=[1]).ours() is None


# --- Verdicts


def test_not_slower_means_a_ratio_of_097_at_every_point():
    name = "not slower than the best peer (0.97), through torch.compile"
    good = case("encoder/1x16/float32/none", inductor=[0.98], unfuse=[1])
    bad = case("encoder/1x128/float32/none", inductor=[0.9], openvino=[0.8], unfuse=[1])
    elsewhere = case("attention/1x1024/float32/none", inductor=[0.1], unfuse=[1])
    assert verdict(name, good, elsewhere).word == "PASS"
    missed = verdict(name, good, bad, elsewhere)
    assert missed.word == "MISS"
    assert missed.detail == "1 of 2 points; worst: 0.8 at encoder/1x128/float32/none (openvino)"


def test_the_command_is_judged_by_itself():
    result = case("vit_b_16/1x197/float32/none", inductor=[1], unfuse=[1], unfuse_command=[2])
    assert verdict("through torch.compile", result).passed
    assert verdict("by the C++ command", result).passed is False


def test_eager_means_the_faster_of_both():
    name = "encoder/1x2048/float32/none"
    result = case(name, eager=[2.5], eager_sdpa=[1.1], unfuse=[1])
    assert verdict("1.2 times", result).passed is False
    assert verdict("2 times as fast as eager's fast path", result).passed
    short = case("encoder/1x16/float32/none", eager=[1.1], unfuse=[1])
    assert verdict("2 times as fast as eager's fast path", short).passed is None


def test_16_bit_is_judged_without_amx_only():
    result = case("encoder/1x16/bfloat16/none", eager=[1.4], unfuse=[1])
    assert verdict("16 bit", result).passed is False
    assert not any("16 bit" in name for name in verdicts(result, has_amx=True))
    assert verdict("1.2 times", result).passed is None


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("encoder/8x128/float32/none", True),
        ("encoder/1x4096/float32/none", True),
        ("encoder/1x2048/float32/none", False),
        ("encoder/8x128/float32/causal", False),
        ("encoder/1x4096/bfloat16/none", False),
    ],
)
def test_the_share_is_asked_where_arithmetic_limits(name, counts):
    found = verdict("0.75 of the arithmetic limit, whole model", case(name, unfuse=[0.012]))
    assert found.passed is (True if counts else None)


def test_half_of_the_work_takes_at_most_06_of_the_time():
    whole = case("attention/1x4096/float32/none", unfuse=[1.0])
    half = case("attention/1x4096/float32/causal", unfuse=[0.59])
    assert verdict("causal attention", whole, half).passed
    assert verdict("causal attention", half).passed is None
    padded = case("encoder/1x1024/float32/padding", unfuse=[1], unfuse_zero_rows=[0.5])
    unpadded = case("encoder/1x1024/float32/none", unfuse=[1.0])
    pooled = [case(f"pooled/1x1024/float32/{m}", unfuse=[1.0]) for m in ("none", "padding")]
    assert verdict("half padding", padded, unpadded).passed
    assert verdict("half padding", padded, unpadded, *pooled).passed is False


def test_memory_is_what_comes_on_top_of_a_short_input():
    def peaks(**of_length):
        results = []
        for length, megabytes in of_length.items():
            result = case(f"encoder/1x{length[1:]}/float32/none", io_bytes=1e6, unfuse=[1])
            result.engines["unfuse"].peak_bytes = int(megabytes * 1e6)
            results.append(result)
        return results

    linear = peaks(l16=500, l4096=560, l15000=720)
    assert verdict("300 MB", *linear).passed
    assert verdict("300 MB", *linear).detail == "220 at length 15000"
    assert verdict("grows linearly", *linear).passed
    quadratic = peaks(l16=500, l4096=520, l15000=790)
    assert verdict("300 MB", *quadratic).passed
    assert verdict("grows linearly", *quadratic).passed is False
    assert verdict("300 MB", *peaks(l15000=800)).passed is None


def test_calls_are_compared_with_a_backend_that_does_nothing():
    fast = case("call/one-op", 0, unfuse=[50e-6, 60e-6], dynamo_eager=[30e-6, 35e-6])
    slow = case("call/one-op", 0, unfuse=[70e-6], dynamo_eager=[30e-6])
    assert verdict("one-op graph", fast).passed
    assert verdict("one-op graph", slow).passed is False
    many = case("call/200-parameters", 0, unfuse=[90e-6], dynamo_eager=[30e-6])
    assert verdict("200 parameters", many).word == "----"
    assert verdict("200 parameters", many).detail == "60 at call/200-parameters"


def test_compiling_counts_the_graph_and_what_its_first_call_takes_longer():
    result = case("vit_b_16/1x197/float32/none", unfuse=[0.2])
    assert verdict("compiles in under", result).passed is None
    result.engines["unfuse"].parts = {"compile graph": 0.3, "first call of graph": 0.8}
    assert verdict("compiles in under", result).detail.startswith("0.9 at")


def test_a_new_length():
    same = case("call/seen-length", 0, unfuse=[0.010])
    assert verdict("a new length", same, case("call/new-length", 0, unfuse=[0.014])).passed
    slow = case("call/new-length", 0, unfuse=[0.016])
    assert verdict("a new length", same, slow).passed is False


def test_nothing_measured_is_neither_passed_nor_missed():
    assert {one.word for one in verdicts().values()} == {"----"}


def test_failed_engines_do_not_count():
    result = case("encoder/8x128/float32/none", eager=[1], inductor=[0.1], unfuse=[0.5])
    result.engines["inductor"].failure = "its result differs from eager's by 1.0e+00"
    assert verdict("through torch.compile", result).passed
    result.engines["unfuse"].failure = "cannot run it"
    assert verdict("through torch.compile", result).passed is None


# --- Tables, JSON, picture


def test_a_table_has_a_line_for_every_engine():
    result = case("encoder/1x16/float32/none", eager=[0.04, 0.04], unfuse=[0.02, 0.02])
    result.engines["openvino"] = EngineResult(failure="not installed (openvino)")
    result.engines["eager"].note = "one round: 2.0 times the fastest's time"
    lines = report.case_table(result).splitlines()
    assert lines[0].startswith("encoder/1x16/float32/none  1 GFLOP, 1 MB; 2 rounds; limits 100 ")
    assert lines[2].split() == (
        "eager 40 ms 40 to 40 2.00 25 0.25 0.00 one round: 2.0 times the fastest's time".split()
    )
    assert lines[3].split() == "unfuse 20 ms 20 to 20 1.00 50 0.50 0.01".split()
    assert lines[4].split() == "openvino not installed (openvino)".split()
    assert lines[2].index("2.00") == lines[3].index("1.00")


def test_tables_of_what_was_not_measured():
    result = CaseResult("c", Work(1, 1), skipped="no time left")
    assert report.case_table(result) == "c\n  not measured: no time left"
    assert report.overview([result]) == ""
    assert report.skipped([result]) == "not measured: c: no time left"
    nobody = case("c", eager=[None])
    assert "no turn" in report.case_table(nobody)


def test_the_overview_has_a_column_for_every_engine():
    results = [
        case("a", eager=[0.002], unfuse=[0.001]),
        case("b", dynamo_eager=[0.003], unfuse=[0.001]),
    ]
    head, first, second = report.overview(results).splitlines()
    assert head.split() == (
        ["median,", "ms", "eager", "unfuse", "dynamo-eager", "best", "peer"]
        + ["takes", "x", "unfuse"]
    )
    assert first.split() == ["a", "2", "1", "-", "eager", "2.00"]
    assert second.split() == ["b", "-", "1", "3", "-", "-"]


def test_notes_are_told_once():
    results = [case(name, openvino=[1]) for name in ("a", "b")]
    for result in results:
        result.engines["openvino"].note = "converted; one round: 3.0 times the fastest's time"
    assert report.notes(results) == "openvino: converted"


def test_the_header_names_the_machine_by_its_features():
    text = report.header(MACHINE, {"torch": "2"}, 2)
    assert text.startswith("x86_64, 2 cores, AVX2, AVX-512, no AMX, 32 MB cache, 23 GB memory\n")


def test_json_holds_everything_that_was_measured():
    result = case("encoder/1x16/float32/none", eager=[2, None], unfuse=[1, 1])
    skipped = CaseResult("c", Work(1, 1), skipped="no time left")
    found = judgement.judge({result.name: result}, has_amx=False)
    text = json.dumps(record.record(MACHINE, {"torch": "2"}, 2, [result, skipped], found))
    read = json.loads(text)
    one, other = read["cases"]
    assert one["engines"]["eager"]["seconds"] == [2, None]
    assert one["engines"]["unfuse"]["median_seconds"] == 1
    assert one["engines"]["unfuse"]["limits"][0]["flops_per_second"] == LIMITS.flops_per_second
    assert one["best_peer"] == {"name": "eager", "times_ours": 2}
    assert other["skipped"] == "no time left"
    assert read["machine"]["features"] == ["AVX2", "AVX-512"]
    assert {"requirement", "passed", "detail"} == set(read["verdicts"][0])


def test_panels_of_the_picture():
    results = [
        case(f"encoder/{size}/{dtype}/none", eager=[1], unfuse=[1])
        for size, dtype in itertools.product(("1x512", "1x16", "8x128"), ("float32", "bfloat16"))
    ]
    results.append(case("encoder/1x16/float32/causal", unfuse=[1]))
    results.append(CaseResult("encoder/1x512/float32/causal", Work(1, 1), skipped="no time left"))
    found = plot.panels(results)
    assert list(found) == [("float32", "none"), ("bfloat16", "none")]
    assert list(found["float32", "none"]) == [16, 512]


def test_the_limit_is_of_what_takes_longer():
    result = case("c", flops=1e9, unfuse=[1])
    assert plot.limit_seconds(result) == pytest.approx(0.01)
    result.work = Work(1e9, bytes=1e9)
    assert plot.limit_seconds(result) == pytest.approx(0.1)


def test_the_picture_is_a_png(tmp_path):
    pytest.importorskip("matplotlib")
    results = [
        case(f"encoder/1x{n}/{d}/none", eager=[n], unfuse=[n / 2])
        for n in (16, 512)
        for d in ("float32", "bfloat16", "float16", "other")
    ]
    plot.write(tmp_path / "picture", plot.panels(results), "a machine")
    assert (tmp_path / "picture").read_bytes().startswith(b"\x89PNG")


# --- The machine, the plan


def test_features_of_processors():
    assert machine.features("processor\t: 0\nflags\t\t: fpu avx2 avx512f amx_tile\n") == (
        "AVX2",
        "AVX-512",
        "AMX",
    )
    assert machine.features("Features\t: fp asimd\n") == ("NEON",)
    assert machine.features("") == ()
    assert machine.describe().cores >= 1


def encoder_case():
    return plan.Case("c", lambda: None, Work(1e9, 1e6), "family")


def test_runs_in_a_turn_make_up_for_short_ones():
    assert plan.runs_in_turn(encoder_case(), 1.0) == 1
    assert plan.runs_in_turn(encoder_case(), 0.01) == 10
    assert plan.runs_in_turn(encoder_case(), 0) == 500


def test_more_rounds_where_they_are_cheap():
    case = encoder_case()
    assert plan.rounds(case, {"eager": 0.1, "unfuse": 0.1}, plan.FULL, None) == 15
    assert plan.rounds(case, {"eager": 2, "unfuse": 1}, plan.FULL, None) == 4
    assert plan.rounds(case, {"eager": 20, "unfuse": 10}, plan.FULL, None) == 3
    assert plan.rounds(case, {"eager": 40, "unfuse": 10}, plan.FULL, None) == 2
    assert plan.rounds(case, {"eager": 40, "unfuse": 10}, plan.FULL, 7) == 7


def test_who_is_far_behind_gets_one_round():
    assert plan.far_behind({"eager": 6.0, "inductor": 4.0, "unfuse": 2.0}) == {"eager": 3.0}
    assert plan.far_behind({"eager": 0.6, "unfuse": 0.1}) == {}
    assert plan.far_behind({}) == {}


def test_cases_that_do_not_fit_into_the_time_are_left_out():
    long = plan.Case("c", lambda: None, Work(1e12, 1e6), "family")
    assert plan.Clock(1.0).has_time_for(encoder_case(), 2, 100e9, plan.FULL)
    assert not plan.Clock(1.0).has_time_for(long, 2, 100e9, plan.FULL)
    assert plan.Clock(None).has_time_for(long, 2, 100e9, plan.FULL)


def test_nan_is_no_share():
    assert math.isnan(CaseResult("c", Work(1, 1), {"e": EngineResult()}).arithmetic_share("e"))
