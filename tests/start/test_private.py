"""The data of a personal installation: nobody but its owner reads it, whatever the umask was."""

from __future__ import annotations

import os
import secrets
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def modes(folder: Path) -> dict[str, str]:
    paths = [folder, *folder.rglob("*")]
    return {str(p.relative_to(folder)): oct(stat.S_IMODE(p.stat().st_mode)) for p in paths}


def manage(home: Path, *words: str) -> None:
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env |= {"APPLYVIZ_HOME": str(home), "DJANGO_SETTINGS_MODULE": "applyviz.settings"}
    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env=env,
        umask=0o000,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.core(1)
@pytest.mark.parametrize("is_old", [False, True])
def test_data_is_private_whatever_the_umask(tmp_path, is_old):
    home = tmp_path / "home"
    if is_old:  # as an earlier release left it
        (home / "keys").mkdir(parents=True)
        (home / "keys" / "session").write_text(secrets.token_urlsafe(48))
        (home / "applyviz.sqlite3").touch()
        for path in (home, home / "keys", home / "keys" / "session", home / "applyviz.sqlite3"):
            path.chmod(0o777)

    manage(home, "migrate", "--verbosity", "0")

    found = modes(home)
    assert found["."] == found["keys"] == "0o700"
    files = {name: mode for name, mode in found.items() if name not in (".", "keys")}
    assert "applyviz.sqlite3" in files
    assert set(files.values()) == {"0o600"}


@pytest.mark.long
def test_links_out_of_the_folder_are_left_alone(tmp_path):
    home, other = tmp_path / "home", tmp_path / "other"
    (home / "keys").mkdir(parents=True)
    other.write_text("not ours")
    other.chmod(0o644)
    (home / "keys" / "link").symlink_to(other)

    manage(home, "check")

    assert stat.S_IMODE(other.stat().st_mode) == 0o644
