"""New random cases: the engine answers as the Go libraries do, also where nobody recorded anything.

Whatever disagrees becomes a named case of the room it belongs to.
"""

import os
from pathlib import Path

import pytest

from applyviz.conformance.merging import judge_case
from applyviz.conformance.report import render_report, run_corpora
from tests.controlplane.explore import find_documents, write_corpus
from tests.controlplane.judge import Judge, find_oracle
from tests.controlplane.mutations import VERSIONS
from tests.controlplane.threeways import make_cases

CORPUS = Path(__file__).parents[1] / "conformance" / "data" / "random"
SEED = int(os.environ.get("APPLYVIZ_SEED", "1"))


@pytest.mark.core(1)
@pytest.mark.controlplane
@pytest.mark.parametrize("family", sorted(VERSIONS))
def test_engine_answers_new_cases_as_go_does(family, binaries, tmp_path):
    write_corpus(CORPUS, tmp_path, [family], count=200, seed=SEED)

    report = run_corpora([tmp_path])

    assert report.families[family].total == 200
    assert report.agrees, render_report(report, show=2)


def find_disagreements(family, count, seed):
    with Judge(find_oracle(), find_documents()) as judge:
        made = make_cases(judge, count=count, seed=seed, family=family)
        return [case for case in made if not judge_case(case, family, "").agrees]


@pytest.mark.core(1)
@pytest.mark.controlplane
@pytest.mark.parametrize("family", ["jmp3", "smp3"])
def test_engine_merges_every_kind_as_go_does(family, binaries):
    assert find_disagreements(family, 200, SEED) == []


@pytest.mark.long
@pytest.mark.parametrize("family", ["jmp3", "smp3"])
def test_engine_merges_very_many_objects_of_every_kind_as_go_does(family, binaries):
    assert find_disagreements(family, 20_000, SEED + 1_000) == []


@pytest.mark.long
@pytest.mark.parametrize("family", sorted(VERSIONS))
def test_engine_answers_very_many_new_cases_as_go_does(family, binaries, tmp_path):
    write_corpus(CORPUS, tmp_path, [family], count=20_000, seed=SEED + 1_000)

    report = run_corpora([tmp_path])

    assert report.families[family].total == 20_000
    assert report.agrees, render_report(report, show=5)
