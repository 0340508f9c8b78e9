"""The exception hierarchy of the engine and the rooms above it.

    ApplyVizError
      - ManifestError      a document cannot be read: file, line, column, reason
      - SourceError        bytes cannot be brought in: what was refused and why
      - SchemaError        a schema document or a CRD cannot be used
      - MergeError         a three-way patch cannot be computed or applied
          - PatchError     a patch does not fit the object: HTTP status, reason
      - OwnershipError     managed fields or a typed object cannot be used: code, field errors
      - ConflictError      other field managers own what an apply would change
      - PlanError
          - StalePlanError what was reviewed is no longer what would run
      - ClusterError       the cluster did not answer as needed
          - UnreachableError, ForbiddenError, ClusterTimeoutError

Errors carry fields; `str()` is one line: what, where, expected, got.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from msgspec import Struct

from applyviz.engine.objects.paths import FieldPath


class ApplyVizError(Exception):
    """Base class of all errors that applyviz reports."""


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A position in a source file; line and column count from 1, 0 means unknown.

    - `document`: which document of the file an object was read from, and `item`: which item of a List there; from 1, 0
      for positions that are not those of an object. They say where a position is in other words, so they do not count.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    document: int = field(default=0, compare=False)
    item: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return ":".join([self.file or "<input>", *(str(n) for n in (self.line, self.column) if n)])


@dataclass(eq=False)
class ManifestError(ApplyVizError):
    """A document cannot be read or names no object that could be applied.

    - `advice`: what to do about it, where that is known; `reason` is what kubectl says.
    """

    reason: str
    position: SourcePosition = field(default_factory=SourcePosition)
    path: FieldPath = ()
    advice: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return f"{self.position}: {self.reason}"


class SourceError(ApplyVizError):
    """Bytes cannot be brought in: a limit, a refused name or address, a tool that failed.

    - `field`: the field of a form or a request that named them; "" until a caller knows it.
    """

    field: str = ""

    def at(self, field: str) -> Self:
        """Return this error as one of a field."""
        self.field = field
        return self


class SchemaError(ApplyVizError):
    """A schema document or a CustomResourceDefinition cannot be used."""


class MergeError(ApplyVizError):
    """A three-way patch cannot be computed, or cannot be applied to the live object."""


@dataclass(eq=False)
class PatchError(MergeError):
    """A patch does not fit the object; `status` is the HTTP status the server answers."""

    reason: str
    status: int = 500

    def __str__(self) -> str:
        return self.reason


@dataclass(eq=False)
class OwnershipError(ApplyVizError):
    """Managed fields or a typed object cannot be used; `code` is the HTTP status the server answers."""

    reason: str
    code: int = 500
    errors: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.reason


class Conflict(Struct, frozen=True):
    """One field that an apply would change although another field manager owns it.

    `api_version` and `subresource` are those of the owner's entry; `time` too ("" when it has none).
    `message` is the text of the API server's cause, `field` the path as it writes it.
    """

    manager: str
    operation: str
    api_version: str
    subresource: str
    path: FieldPath
    message: str
    time: str = ""
    field: str = ""


@dataclass(eq=False)
class ConflictError(ApplyVizError):
    """Other field managers own what an apply would change (409, reason Conflict)."""

    conflicts: tuple[Conflict, ...]
    message: str

    def __str__(self) -> str:
        return self.message


class PlanError(ApplyVizError):
    """A plan cannot be made or used."""


class StalePlanError(PlanError):
    """The plan would no longer do what was approved."""


@dataclass(eq=False)
class ClusterError(ApplyVizError):
    """The cluster did not answer as needed; `status` is 0 if no answer came.

    - `detail` is the message of the server, the operating system or OpenSSL, for the details of an error page.
    """

    reason: str
    status: int = 0
    detail: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return self.reason


class UnreachableError(ClusterError):
    """No connection, or the connection broke before an answer came."""


class ForbiddenError(ClusterError):
    """The identity used may not do this (401, 403)."""


class ClusterTimeoutError(ClusterError):
    """No answer within the deadline."""
