"""Asks the Go libraries: the oracle program of this folder, fed with the documents of a real API server.

One process answers any number of cases, a line for a line, in the format of the recorded corpora.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.controlplane.binaries import MODULE, build, cache_folder
from tests.controlplane.controlplane import ControlPlane


def find_oracle() -> Path:
    """The oracle, built when its sources or its pins have changed."""
    digest = hashlib.sha256((MODULE / "go.sum").read_bytes())
    for path in sorted((MODULE / "oracle").glob("*.go")):
        digest.update(path.read_bytes())
    program = cache_folder() / f"oracle-{digest.hexdigest()[:12]}" / "oracle"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        build("./oracle", program)
    return program


def save_documents(plane: ControlPlane, folder: Path) -> None:
    """Write the OpenAPI documents that the server serves: `v2.json`, and `v3/<path with dots>.json`."""
    (folder / "v3").mkdir(parents=True, exist_ok=True)
    (folder / "v2.json").write_text(plane.kubectl("get", "--raw", "/openapi/v2").stdout)
    index = json.loads(plane.kubectl("get", "--raw", "/openapi/v3").stdout)
    for name, entry in index["paths"].items():
        if name.startswith(("api/", "apis/")) and name.count("/") == (1 if name.startswith("api/") else 2):
            text = plane.kubectl("get", "--raw", entry["serverRelativeURL"]).stdout
            (folder / "v3" / f"{name.replace('/', '.')}.json").write_text(text)


def _read_integer(text: str) -> int | float:
    # Go writes floats without an exponent up to 1e21; beyond 64 bits nothing else is written so.
    return int(text) if -(2**63) <= int(text) < 2**63 else float(text)


class Judge:
    """A running oracle; use it as a context manager."""

    def __init__(self, program: Path, documents: Path) -> None:
        self._process = subprocess.Popen(
            [str(program), "-openapi", str(documents)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=15)

    def ask(self, case: Mapping[str, Any]) -> Any:
        """The expected answer to one case; None when the library broke down on it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": case["op"], "input": case["input"]}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline(), parse_int=_read_integer).get("expected")

    def ask_all(self, cases: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Any]]:
        """Each case with its answer."""
        for case in cases:
            yield case, self.ask(case)
