"""New random cases: the engine answers as the Go libraries do, also where nobody recorded anything.

Whatever disagrees becomes a named case of the room it belongs to.
"""

import os
from pathlib import Path

import pytest

from applyviz.conformance.report import render_report, run_corpora
from tests.controlplane.explore import write_corpus
from tests.controlplane.mutations import VERSIONS

CORPUS = Path(__file__).parents[1] / "conformance" / "data" / "random"
SEED = int(os.environ.get("APPLYVIZ_SEED", "1"))


@pytest.mark.controlplane
@pytest.mark.parametrize("family", sorted(VERSIONS))
def test_engine_answers_new_cases_as_go_does(family, binaries, tmp_path):
    write_corpus(CORPUS, tmp_path, [family], count=400, seed=SEED)

    report = run_corpora([tmp_path])

    assert report.families[family].total == 400
    assert report.agrees, render_report(report, show=2)


@pytest.mark.long
@pytest.mark.parametrize("family", sorted(VERSIONS))
def test_engine_answers_very_many_new_cases_as_go_does(family, binaries, tmp_path):
    write_corpus(CORPUS, tmp_path, [family], count=20_000, seed=SEED + 1_000)

    report = run_corpora([tmp_path])

    assert report.families[family].total == 20_000
    assert report.agrees, render_report(report, show=5)
