"""The locked requirements resolve by hash under the pips that stock Pythons bring, also beside newer versions."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.install.image import ROOT

pytestmark = [pytest.mark.install, pytest.mark.long]

# Python 3.11 brings 22.3 to 24.0, Debian 12 brings 23.0; the newest is the one that the index serves. Python 3.12
# took away what pips before 23.2 need.
PIPS = {
    "python3.11": ("22.3.1", "23.0.1", "23.2.1", "24.0", ""),
    "python3.12": ("24.0", ""),
    "python3.13": ("24.2", ""),
}
CASES = [(python, pip) for python, pips in PIPS.items() for pip in pips]


@pytest.fixture(scope="module")
def newer_versions(tmp_path_factory) -> Path:
    """A folder with a newer version of each locked package: what an index holds on a later day."""
    folder: Path = tmp_path_factory.mktemp("newer")
    text = (ROOT / "requirements-dev.txt").read_text()
    for name in re.findall(r"^([A-Za-z0-9._-]+)", text, re.MULTILINE):
        stem = re.sub(r"[-_.]+", "_", name).lower()
        with zipfile.ZipFile(folder / f"{stem}-9999-py3-none-any.whl", "w") as wheel:
            about = f"{stem}-9999.dist-info"
            wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 9999\n")
            wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{about}/RECORD", "")
    return folder


def is_there(python: str) -> bool:
    """Whether this Python runs here; a version manager may leave only a name."""
    found = shutil.which(python)
    return bool(found) and subprocess.run([python, "--version"], capture_output=True).returncode == 0


def make_environment(folder: Path, python: str, pip: str) -> Path:
    """Return the Python of a new environment with this pip."""
    subprocess.run([python, "-m", "venv", folder], check=True, capture_output=True)
    made = folder / "bin" / "python"
    wanted = f"pip=={pip}" if pip else "pip"
    upgrade = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", wanted]
    subprocess.run([made, *upgrade], check=True, capture_output=True)
    return made


@pytest.mark.parametrize(("python", "pip"), CASES, ids=[f"{python}-pip-{pip or 'newest'}" for python, pip in CASES])
@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_locked_requirements_resolve_by_hash(python, pip, file, newer_versions, tmp_path):
    if not is_there(python):
        pytest.skip(f"no {python} on this machine")
    made = make_environment(tmp_path / "environment", python, pip)

    command: list[Path | str] = [made, "-m", "pip", "install", "--quiet", "--dry-run", "--disable-pip-version-check"]
    command += ["--find-links", newer_versions, "--require-hashes", "-r", ROOT / file]
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
