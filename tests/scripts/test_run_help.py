"""`scripts/run --help`: it answers at once, names every option and the data folder, and installs nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from applyviz.web.management.commands.serve import Command

ROOT = Path(__file__).parents[2]
OF_DJANGO = {
    *("--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
    *("--no-color", "--force-color", "--skip-checks"),
}


@pytest.mark.parametrize("options", [["--help"], ["-h"], ["--port", "9000", "--help"]])
def test_help_names_options_and_data_folder_and_installs_nothing(tmp_path, options):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    ask = [str(tmp_path / "scripts" / "run"), *options]

    plain = subprocess.run(ask, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    elsewhere = {"PATH": "/usr/bin:/bin", "APPLYVIZ_HOME": "/srv/applyviz"}
    named = subprocess.run(ask, env=elsewhere, capture_output=True, text=True, check=True)

    parser = Command().create_parser("manage.py", "serve")
    offered = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    assert set(re.findall(r"^  (--[a-z-]+)", plain.stdout, re.MULTILINE)) == offered - OF_DJANGO
    assert f"Data folder: {tmp_path / 'var'} " in plain.stdout
    assert "Data folder: /srv/applyviz " in named.stdout
    assert (plain.stderr, (tmp_path / ".venv").exists(), (tmp_path / "var").exists()) == ("", False, False)
