"""What the Dockerfile makes, without a container: an environment of requirements.txt alone, and the files it copies.

Everything is read from the Dockerfile itself, so that a file or a step that is missing there is missing here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.renderers import find_renderers

ROOT = Path(__file__).parents[2]
INSTALL_SECONDS = 480
# Compiled once for all processes, none of which writes compiled modules; compiling all packages takes 18 s.
USED = (
    "celery.apps.beat, celery.apps.worker, celery.bin.celery, celery.concurrency.prefork, kombu.transport.redis, "
    "psycopg, psycopg_pool, redis, uvicorn.lifespan.off, uvicorn.main, uvicorn.protocols.http.auto"
)


def _instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in text.splitlines()) if word.isupper()]


@dataclass(frozen=True)
class Image:
    """The file system of the image: `app` for /app, `venv` for /venv; `settings` is its ENV.

    - `programs` are those that the image of the renderer has beside: none of another image's processes finds them.
    """

    app: Path
    venv: Path
    settings: dict[str, str]
    programs: Path


def _run(command: list[str] | str, cwd: Path, **environment: str) -> None:
    done = subprocess.run(
        command,
        shell=isinstance(command, str),
        cwd=cwd,
        env={**{k: v for k, v in os.environ.items() if not k.startswith(("VIRTUAL_ENV", "DJANGO"))}, **environment},
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-4000:]}"


def _install(venv: Path) -> None:
    """Only requirements.txt, by hash; uv keeps the wheels, so that a second time takes seconds."""
    uv = str(Path(sys.executable).with_name("uv"))
    _run([uv, "venv", "--quiet", "--python", sys.executable, str(venv)], venv.parent)
    python = str(venv / "bin" / "python")
    _run(
        [
            uv,
            "pip",
            "install",
            "--quiet",
            "--require-hashes",
            "-r",
            str(ROOT / "requirements.txt"),
            "--python",
            python,
        ],
        venv.parent,
    )
    _run([python, "-c", f"import {USED}"], venv.parent, PYTHONDONTWRITEBYTECODE="")


def _copy(sources: list[str], target: Path, app: Path) -> None:
    for source in sources:
        into = app / source if len(sources) == 1 else target / source
        into.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, into, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, into)


def _copy_programs(rest: str, programs: Path) -> None:
    """What a stage copies out of the one that builds the programs."""
    names = [Path(source).name for source in rest.split()[1:-1]]
    assert names
    for name in names:
        (programs / name).symlink_to(find_renderers() / name)


def build_image(folder: Path) -> Image:
    """Follow the Dockerfile into a folder."""
    app, venv, programs = folder / "app", folder / "venv", folder / "programs"
    app.mkdir()
    programs.mkdir()
    _install(venv)
    settings: dict[str, str] = {}
    stage = ""
    for word, rest in _instructions():
        if word == "FROM":
            stage = rest.partition(" AS ")[2]
        elif stage == "renderers":  # `find_renderers` does the same with the same pins
            continue
        elif word == "COPY" and rest.startswith("--from=renderers"):
            _copy_programs(rest, programs)
        elif word == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            _copy(sources, app / target, app)
        elif word == "RUN" and "manage.py" in rest:
            _run(re.sub(r"/(venv|tmp)/", rf"{folder}/\1/", rest), app, PYTHONDONTWRITEBYTECODE="")
        elif word == "ENV":
            settings |= dict(re.findall(r"(\w+)=(\S+)", rest))
    settings["PATH"] = settings["PATH"].replace("/venv/", f"{venv}/").replace("$PATH", os.environ["PATH"])
    return Image(app, venv, settings, programs)
