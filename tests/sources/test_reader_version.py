"""The version of the reader covers all code that decides how a file is read."""

from __future__ import annotations

import json
import subprocess
import sys

from applyviz.sources import sandboxed


def test_version_covers_every_module_that_the_reading_child_loads() -> None:
    code = f"import sys, json, {sandboxed.CHILD}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)

    rooms = tuple(f"applyviz.{folder.replace('/', '.')}" for folder in sandboxed.READING)
    ours = [name for name in loaded if name.startswith("applyviz.") and name != "applyviz.engine"]
    assert sandboxed.CHILD in ours
    assert [name for name in ours if name not in rooms and name.rpartition(".")[0] not in rooms] == []


def test_version_follows_the_code(tmp_path, monkeypatch) -> None:
    (tmp_path / "sources").mkdir()
    path = tmp_path / "sources" / "wire.py"
    names = set()
    monkeypatch.setattr(sandboxed, "_PRODUCT", tmp_path)
    for code in ("a = 1\n", "a = 2\n"):
        path.write_text(code)
        sandboxed.name_reader.cache_clear()
        names.add(sandboxed.name_reader())
    sandboxed.name_reader.cache_clear()

    assert len(names) == 2
