"""Does the report count honestly: broken runners, unknown operations, paths that are not there?"""

from __future__ import annotations

import gzip
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.report import Report, find_corpora, render_case, render_report, run_corpora

DATA = Path(__file__).parent / "data"
STORY = DATA / "recorded" / "csa-missing-annotation.json.gz"


def write_lines(path: Path, *cases: dict) -> Path:
    path.write_bytes(gzip.compress("\n".join(json.dumps(c) for c in cases).encode()))
    return path


def test_find_corpora_searches_folders_for_both_formats(tmp_path):
    lines = write_lines(tmp_path / "a.jsonl.gz", {"op": "smp3"})
    story = tmp_path / "deep" / "s.json"
    story.parent.mkdir()
    story.write_text('{"steps": []}')
    (tmp_path / "other.json").write_text('{"no": "story"}')
    (tmp_path / "notes.txt").write_text("nothing")

    assert list(find_corpora([tmp_path])) == [lines, story]


def test_find_corpora_refuses_a_path_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        list(find_corpora([tmp_path / "nowhere"]))


def test_case_that_breaks_its_runner_disagrees_with_its_reason(tmp_path):
    path = write_lines(tmp_path / "x.jsonl.gz", {"op": "jmp3", "input": None, "expected": {}}, {"op": "jmp3"})

    report = run_corpora([path])

    tally = report.families["jmp3"]
    assert (tally.agree, tally.total) == (0, 2)
    assert all(case.reason for case in tally.disagreeing)


def test_unknown_operation_disagrees(tmp_path):
    report = run_corpora([write_lines(tmp_path / "x.jsonl.gz", {"op": "divination"})])

    assert report.families["divination"].disagreeing[0].reason == "unknown operation 'divination' in 1 cases"


def test_family_option_runs_nothing_else():
    report = run_corpora([STORY], ["requests"])

    assert report.as_data() == {"families": {"requests": {"agree": 2, "total": 2, "disagree": []}}}


def test_render_case_shows_what_differs():
    case = CaseResult("smp3", "line 7", False, "patch differs", {"a": 1}, {"a": 2})

    assert render_case(case).splitlines() == [
        "smp3: line 7: patch differs",
        "  --- recorded",
        "  +++ ours",
        "  @@ -1,3 +1,3 @@",
        "   {",
        '  -  "a": 1',
        '  +  "a": 2',
        "   }",
    ]


def test_command_prints_figures_as_json():
    out = StringIO()

    call_command("conformance", str(STORY), "--family", "requests", "--json", stdout=out)

    assert json.loads(out.getvalue()) == {"families": {"requests": {"agree": 2, "total": 2, "disagree": []}}}


def test_command_exits_1_when_anything_disagrees(tmp_path):
    path = write_lines(tmp_path / "x.jsonl.gz", {"op": "jmp3", "input": None, "expected": {}})

    with pytest.raises(SystemExit) as stop:
        call_command("conformance", str(path), "--show", "1", stdout=StringIO())

    assert stop.value.code == 1


def test_command_says_how_far_it_is(tmp_path):
    """All recordings take minutes."""
    for number in range(25):
        write_lines(tmp_path / f"{number}.jsonl.gz", {"op": "jmp3", "input": None, "expected": {}})
    errors = StringIO()

    with pytest.raises(SystemExit):
        call_command("conformance", str(tmp_path), stdout=StringIO(), stderr=errors)

    assert errors.getvalue().split("\n")[:2] == ["  10 of 25 files ...", "  20 of 25 files ..."]


def test_command_refuses_a_folder_without_cases(tmp_path):
    with pytest.raises(CommandError, match="no cases found"):
        call_command("conformance", str(tmp_path), stdout=StringIO())


def test_report_without_cases_agrees():
    assert Report().agrees


def test_exception_with_a_name_is_printed_with_its_reason_and_fails_nothing():
    report = Report()
    report.add(CaseResult("reasons", "ssa.jsonl.gz line 597: Deployment web, client, confirmed", False, "one of two"))
    report.add(CaseResult("reasons", "ssa.jsonl.gz line 598: Deployment web, client, confirmed", True))

    assert report.agrees
    assert render_report(report).splitlines() == [
        "reasons       1 / 2",
        "reasons: 1 named: entries of live or of the manifest that are there twice: the merge makes one of them",
    ]


def test_exception_covers_no_other_case_and_no_other_family():
    for family, name in (("reasons", "ssa.jsonl.gz line 5970: x"), ("rows", "ssa.jsonl.gz line 597: x")):
        report = Report()
        report.add(CaseResult(family, name, False, "differs"))

        assert not report.agrees
