"""`scripts/run` before it installs: --help names every option and the data folder, and a wrong option is refused."""

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


def copy_script(folder: Path) -> str:
    """`scripts/run` where nothing is installed and no Python is found."""
    shutil.copytree(ROOT / "scripts", folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    return str(folder / "scripts" / "run")


@pytest.mark.parametrize("options", [["--help"], ["-h"], ["--port", "9000", "--help"]])
def test_help_names_options_and_data_folder_and_installs_nothing(tmp_path, options):
    ask = [copy_script(tmp_path), *options]

    plain = subprocess.run(ask, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    elsewhere = {"PATH": "/usr/bin:/bin", "APPLYVIZ_HOME": "/srv/applyviz"}
    named = subprocess.run(ask, env=elsewhere, capture_output=True, text=True, check=True)

    parser = Command().create_parser("manage.py", "serve")
    offered = {name for action in parser._actions for name in action.option_strings if name.startswith("--")}
    assert set(re.findall(r"^  (--[a-z-]+)", plain.stdout, re.MULTILINE)) == offered - OF_DJANGO
    assert f"Data folder: {tmp_path / 'var'} " in plain.stdout
    assert "Data folder: /srv/applyviz " in named.stdout
    assert (plain.stderr, (tmp_path / ".venv").exists(), (tmp_path / "var").exists()) == ("", False, False)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--prot", "9000"], "there is no option --prot"),
        (["demo"], "there is no option demo"),
        (["--no-demo", "--port", "http"], "--port needs a number, not http"),
        (["--port=123456"], "--port needs a number, not 123456"),
        (["--reset", "--host"], "--host needs a value"),
        (["--host", "--reset"], "--host needs a value"),
        (["--port="], "--port needs a value"),
    ],
)
def test_wrong_option_is_named_before_anything_is_installed(tmp_path, options, reason):
    bare = {"PATH": "/usr/bin:/bin", "PYTHON": "/bin/false"}

    done = subprocess.run([copy_script(tmp_path), *options], env=bare, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"scripts/run: {reason}. See: scripts/run --help\n"
    assert not (tmp_path / ".venv").exists()


def test_options_of_the_help_are_passed_on(tmp_path):
    run = copy_script(tmp_path)
    (tmp_path / "scripts" / "venv.sh").write_text("ensure_venv() { :; }\n")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    options = ["--host", "0.0.0.0", "--port=9000", "--no-demo", "--reset"]

    done = subprocess.run([run, *options], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)

    assert done.stdout == f"manage.py serve {' '.join(options)}\n"
