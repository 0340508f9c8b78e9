"""Recorded stories as data: commands, files, requests and answers.

A story is one JSON file (format: `tests/conformance/README.md`). Files are tracked from step to step, so that each
invocation knows the files of its time. Nothing is judged here.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from applyviz.engine.objects.exchange import Answer
from applyviz.engine.objects.golang import read_integer
from applyviz.engine.objects.values import JSONObject, JSONValue

NOW = "2026-06-01T00:00:00Z"
"""The moment at which stories and cases are judged that name none."""


class StoryExchange(Struct, frozen=True):
    """One HTTP request and its answer; `text` is the request's body as it was sent, when it was no JSON
    or lost something when parsed."""

    method: str
    path: str
    query: Mapping[str, str]
    content_type: str
    body: JSONValue
    text: str
    answer: Answer
    invocation: int | None = None
    is_watch: bool = False

    @property
    def is_write(self) -> bool:
        """Whether the request changes anything (dry runs count)."""
        return self.method in ("POST", "PUT", "PATCH", "DELETE")


class Invocation(Struct, frozen=True):
    """One kubectl that a step started, with the files at that time and its own exchanges in order.

    `folder` is its working directory, relative to the story's own ("" there); `asks_for_kinds` if it refreshed its
    discovery, which kubectl does for a kind that its cache lacks.
    """

    step: int
    number: int
    argv: tuple[str, ...]
    files: Mapping[str, str]
    exchanges: tuple[StoryExchange, ...]
    stdin: str | None = None
    folder: str = ""
    rendered: Mapping[str, str] = field(default_factory=dict)
    asks_for_kinds: bool = False


class StoryStep(Struct, frozen=True):
    """One shell command, its output, and all of its exchanges (also those outside of an invocation)."""

    number: int
    run: str
    exit: int
    stdout: str
    stderr: str
    invocations: tuple[Invocation, ...]
    exchanges: tuple[StoryExchange, ...]
    files: Mapping[str, str] = field(default_factory=dict)


class Story(Struct, frozen=True):
    """A whole recording."""

    name: str
    namespace: str
    env: Mapping[str, str]
    client: str
    steps: tuple[StoryStep, ...]


def _read_exchange(data: JSONObject) -> StoryExchange:
    return StoryExchange(
        method=data["method"],
        path=data["path"],
        query=data.get("query") or {},
        content_type=data.get("content_type") or "",
        body=data.get("body"),
        text=data.get("body_raw") or data.get("body_text") or "",
        answer=Answer(
            data.get("status") or 0,
            data.get("response", data.get("response_text")),
            tuple(data.get("warnings") or ()),
        ),
        invocation=data.get("invocation"),
        is_watch=bool(data.get("watch")),
    )


def _apply_changes(files: dict[str, str], changed: Mapping[str, str | None]) -> None:
    for name, text in changed.items():
        if text is None:
            files.pop(name, None)
        else:
            files[name] = text


def _read_step(number: int, data: JSONObject, files: dict[str, str]) -> StoryStep:
    _apply_changes(files, data.get("write") or {})
    exchanges = tuple(_read_exchange(r) for r in data.get("requests") or () if not r.get("discovery"))
    asking = {r.get("invocation") for r in data.get("requests") or () if r.get("discovery") and r["path"] == "/apis"}
    invocations = []
    for index, call in enumerate(data.get("invocations") or ()):
        _apply_changes(files, call.get("changed") or {})
        invocations.append(
            Invocation(
                step=number,
                number=index,
                argv=tuple(call["argv"]),
                files=dict(files),
                exchanges=tuple(e for e in exchanges if e.invocation == index and not e.is_watch),
                stdin=call.get("stdin"),
                folder=call.get("cwd") or "",
                rendered=call.get("rendered") or {},
                asks_for_kinds=index in asking,
            )
        )
    return StoryStep(
        number=number,
        run=data.get("run") or "",
        exit=data.get("exit") or 0,
        stdout=data.get("stdout") or "",
        stderr=data.get("stderr") or "",
        invocations=tuple(invocations),
        exchanges=exchanges,
        files=dict(files),
    )


def read_story(data: JSONObject) -> Story:
    """Return a story from its parsed JSON."""
    files = dict(data.get("files") or {})
    return Story(
        name=data.get("name") or "",
        namespace=data.get("namespace") or "default",
        env=data.get("env") or {},
        client=data.get("client") or "",
        steps=tuple(_read_step(n, step, files) for n, step in enumerate(data.get("steps") or ())),
    )


def load_json(path: Path) -> Any:
    """Load a JSON file, gzip'd or not."""
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data, parse_int=read_integer)


def load_story(path: Path) -> Story:
    """Load a recorded story from `.json` or `.json.gz`."""
    return read_story(load_json(path))


def load_lines(path: Path) -> Iterator[tuple[int, JSONObject]]:
    """Load the cases of a `.jsonl.gz` file, each with its line number from 1."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, json.loads(line, parse_int=read_integer)
