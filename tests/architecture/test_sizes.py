"""Files and functions stay small enough to be read in one go."""

import ast
from collections import Counter

from tests.architecture.tracked import ROOT, files_below, read_module

FILE_WALL = 400
FUNCTION_WALL = 60
MODULES = 41  # 40 and `__init__.py`
FOLDERS = (("applyviz", ".py"), ("tests", ".py"), ("scripts", ".py"), ("templates", ".html"), ("static", ".css", ".js"))


def test_files_stay_below_the_wall():
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for folder, *suffixes in FOLDERS
        for path in files_below(folder, *suffixes)
        if "migrations" not in path.parts
    }

    assert len(sizes) > 50
    assert {name: size for name, size in sizes.items() if size > FILE_WALL} == {}


def test_functions_stay_below_the_wall():
    long_ones = {}
    # In tests a long literal is data; ruff bounds their statements.
    for folder in ("applyviz", "scripts"):
        for path in files_below(folder, ".py"):
            module = read_module(path)
            functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = [*module.find(ast.FunctionDef)]
            for node in (*functions, *module.find(ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_WALL:
                    long_ones[f"{path.relative_to(ROOT)}:{node.name}"] = lines

    assert long_ones == {}


def test_folders_stay_below_forty_modules():
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in files_below("applyviz", ".py"))

    assert len(counts) > 50
    assert {folder: count for folder, count in counts.items() if count > MODULES} == {}
