"""Is what people read about a plan what happens: on every recorded story, every report and every random case?"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.inputs import ApplyInput, read_inputs, read_lines, read_reports
from applyviz.conformance.report import SHOWN_FAMILIES, Report, judge_shown, render_report
from applyviz.web.management.presenting import present

DATA = Path(__file__).parent / "data"
REPORTS = [DATA / "reported.yaml", *sorted((DATA.parents[1] / "cases" / "reported").glob("*.yaml"))]
REPORTED = [(path, given) for path in REPORTS for given in read_reports(path)]
# A long story is judged in parts, so that a few parts of stories are in every run, whichever they are.
LONG = 8192
STORIES = [
    (path, part, parts)
    for path in sorted((DATA / "recorded").glob("*.json.gz"))
    for parts in [1 + path.stat().st_size // LONG]
    for part in range(parts)
]
# Parts of the files of random cases, so that a few of each are in every run.
PART = 10
RANDOM = [(name, start) for name in ("smp3", "ssa") for start in range(0, 600, PART)]

# How many single claims were judged about these reports, so that no judge asks less without anyone noticing.
CLAIMS = json.loads((DATA.parent / "claims.json").read_text("utf-8"))
SAMPLE = [given for path, given in REPORTED if path.parent == DATA][::8]

pytestmark = pytest.mark.conformance


def expect_all(cases: list[CaseResult], least: int = 1) -> None:
    report = Report()
    for case in cases:
        report.add(case)
    assert report.agrees, render_report(report, show=5)
    assert len(cases) >= least


def judge(given: ApplyInput, families: tuple[str, ...] = SHOWN_FAMILIES) -> list[CaseResult]:
    return list(judge_shown(given, families, present))


@pytest.mark.core(24)
@pytest.mark.parametrize(("path", "given"), REPORTED, ids=lambda one: one.name)
def test_what_is_told_of_a_report_is_so(path, given):
    expect_all(judge(given), least=0 if not given.documents else 4)


def count_claims(inputs: list[ApplyInput]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for case in (case for given in inputs for case in judge(given)):
        counts[case.family] += case.claims
    return counts


def test_judges_ask_at_least_as_much_of_a_sample_as_before():
    assert sorted(CLAIMS["sample"]) == sorted(SHOWN_FAMILIES)
    assert Counter(CLAIMS["sample"]) <= count_claims(SAMPLE)


@pytest.mark.long
def test_judges_ask_at_least_as_much_of_all_reports_as_before():
    assert Counter(CLAIMS["all"]) <= count_claims([given for _path, given in REPORTED])


@pytest.mark.core(4)
@pytest.mark.parametrize(("path", "part", "parts"), STORIES, ids=lambda one: Path(str(one)).name.partition(".")[0])
def test_what_is_told_of_a_story_is_so(path, part, parts):
    inputs = list(read_inputs(path))
    expect_all([case for given in inputs[part::parts] for case in judge(given)], least=0)


@cache
def list_random(name: str) -> tuple[ApplyInput, ...]:
    return tuple(read_lines(DATA / "random" / f"{name}.jsonl.gz"))


@pytest.mark.core(2)
@pytest.mark.parametrize(("name", "start"), RANDOM)
def test_what_is_told_of_a_random_case_is_so(name, start):
    part = islice(list_random(name), start, start + PART)
    # The server refuses most random objects for several reasons at once, of which it names some: no risk is judged.
    expect_all([case for given in part for case in judge(given, ("rows", "reasons"))], least=0)
