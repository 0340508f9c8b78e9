"""Requests to an API server and its answers, as data.

Flows (`engine/requests`) are generators: they yield a `Request` and receive an `Answer`; they do not depend on where
the answer comes from (live cluster, sandbox, dry run, recording).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

import msgspec

from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.structs import replace

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class HandedField(msgspec.Struct, frozen=True):
    """A field that moves to another manager, or from it."""

    path: FieldPath
    manager: str


class Placeholder(msgspec.Struct, frozen=True):
    """A placeholder in a request body, filled at send time from the live object just read.

    `path` is its position in the body (fields and `i:` indices), `rule` names its value: `uid`, `resourceVersion`, or
    `managedFields` (migrations); `managers` are the field managers whose fields then move (None: by kubectl's own
    rule); `handed` are the fields that then move to another manager, each with its new owner; `taken` are those that
    the field manager of the request takes, each with its former owner.
    """

    path: FieldPath
    rule: str
    managers: tuple[str, ...] | None = None
    handed: tuple[HandedField, ...] = ()
    taken: tuple[HandedField, ...] = ()


class Request(msgspec.Struct, frozen=True):
    """One HTTP request to an API server; a template while it has placeholders.

    `body` is the JSON value that is sent (None: no body). `ref` names its object, if there is one. `purpose` is a fixed
    word for pages and journal: read, create, patch, apply, delete, list, migrate.
    """

    method: str
    path: str
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    content_type: str = ""
    body: Any = None
    ref: ObjectRef | None = None
    purpose: str = ""
    placeholders: tuple[Placeholder, ...] = ()

    @property
    def is_write(self) -> bool:
        """Whether the request changes anything when it is not a dry run."""
        return self.method not in ("GET", "HEAD")

    @property
    def is_dry_run(self) -> bool:
        """Whether the request asks the server to persist nothing.

        - A DELETE whose body holds options is a dry run only by its body: the API server then ignores the query.
        """
        if self.method == "DELETE" and self.body is not None:
            return isinstance(self.body, Mapping) and self.body.get("dryRun") == ["All"]
        return self.query.get("dryRun") == "All"

    def as_dry_run(self) -> Self:
        """Return the same request with `dryRun=All`, in the place that the API server reads."""
        if self.method == "DELETE" and self.body is not None:
            return replace(self, body={**self.body, "dryRun": ["All"]})
        return replace(self, query={**self.query, "dryRun": "All"})


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the API server; `warnings` are the texts of its Warning headers.

    `retry_after` is seconds, 0 when the server named none. `at` is the time of the server's own clock, None when it
    named none.
    """

    status: int
    body: Any = None
    warnings: tuple[str, ...] = ()
    retry_after: float = 0.0
    at: datetime | None = field(default=None, compare=False)

    @property
    def is_ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """The message of a `Status` body, else empty text."""
        text = self.body.get("message", "") if isinstance(self.body, Mapping) else ""
        return text if isinstance(text, str) else ""

    @property
    def reason(self) -> str:
        """The reason of a `Status` body (`NotFound`, `Conflict`, …), else empty text."""
        text = self.body.get("reason", "") if isinstance(self.body, Mapping) else ""
        return text if isinstance(text, str) else ""
