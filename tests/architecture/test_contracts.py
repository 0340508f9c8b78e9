"""The import contracts hold, and each breaks on an import planted against it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT), "--no-logo", "--no-cache", "--config", str(folder / "pyproject.toml")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("contracts")
    shutil.copytree(ROOT / "applyviz", folder / "applyviz", ignore=shutil.ignore_patterns("__pycache__", "*.gz"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_contracts_are_kept(copy):
    done = lint(copy)

    assert done.returncode == 0, done.stdout


@pytest.mark.core(4)
@pytest.mark.parametrize(
    ("planted_in", "line", "contract"),
    [
        ("engine/diff/__init__.py", "import django", "The engine is pure"),
        ("engine/objects/__init__.py", "import applyviz.engine.schema", "Engine rooms"),
        ("engine/merge/__init__.py", "import applyviz.engine.ownership", "Engine rooms"),
        ("records/__init__.py", "import applyviz.workflow", "Floors"),
        ("sandbox/__init__.py", "import applyviz.records", "Floors"),
        ("workflow/__init__.py", "import applyviz.guide", "The workflow knows no guide"),
        ("sandbox/__init__.py", "import django", "The sandbox knows no Django"),
        ("engine/__init__.py", "import applyviz.kubernetes.v1_36", "Floors"),
        ("kubernetes/parity/__init__.py", "import applyviz.kubernetes.v1_36", "Kubernetes rooms"),
        ("web/frame/streams.py", "import applyviz.web.home.views", "Web areas"),
        ("web/runs/forms.py", "import applyviz.web.runs.views", "Inside a web area"),
        ("web/reviews/pane/fields.py", "import applyviz.web.reviews.pages.risks", "Inside the reviews"),
        ("web/__init__.py", "import kubernetes", "Only clusters speaks to Kubernetes"),
        ("web/__init__.py", "import applyviz.clusters.writer", "One writer"),
        ("web/home/views.py", "import applyviz.clusters.connect", "Pages open nothing"),
        ("web/home/pages.py", "import applyviz.records.sealing", "Pages open nothing"),
    ],
)
def test_contract_breaks_on_a_planted_import(copy, planted_in, line, contract):
    path = copy / "applyviz" / planted_in
    before = path.read_text()
    path.write_text(f"{before}\n{line}\n")

    try:
        done = lint(copy)
    finally:
        path.write_text(before)

    assert done.returncode == 1
    assert f"{contract} BROKEN" in done.stdout
