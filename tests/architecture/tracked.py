"""The files of this project: those under version control, or of a copy without its history."""

import ast
import subprocess
from functools import lru_cache
from pathlib import Path

from scripts import syntax
from scripts.syntax import Syntax

ROOT = Path(__file__).parents[2]
_LEFT_OUT = {".git", ".venv", "__pycache__", "var", "staticfiles", "node_modules"}


@lru_cache(maxsize=1)
def tracked_files() -> tuple[Path, ...]:
    """Every file that belongs to the project and is there."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0 and done.stdout:
        found = (ROOT / name for name in done.stdout.split("\0") if name)
    else:
        found = (path for path in ROOT.rglob("*") if not _LEFT_OUT & set(path.relative_to(ROOT).parts))
    return tuple(sorted(path for path in found if path.is_file()))


def read_module(path: Path) -> Syntax:
    """The syntax of a module, read once for all tests of a process."""
    return syntax.read_module(path)


def parse(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return read_module(path).tree


def files_below(folder: str, *suffixes: str) -> list[Path]:
    """Tracked files in a folder with one of these endings, vendored ones left out."""
    return [
        path
        for path in tracked_files()
        if path.is_relative_to(ROOT / folder) and path.suffix in suffixes and "vendor" not in path.parts
    ]
