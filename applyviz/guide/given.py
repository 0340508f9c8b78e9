"""The playground's input: the versions of one object as text, and the apply options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from msgspec import Struct, convert
from msgspec.structs import asdict

from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode


class Query(Struct, frozen=True):
    """A question to the playground."""

    def to_json(self) -> JSONObject:
        """Return the question as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: JSONObject) -> Self:
        """Return the question from the JSON of `to_json`."""
        return convert(data, cls)


class PlaygroundQuery(Query, frozen=True):
    """One question about an object.

    - `owners` has one line per field owner (`applyviz.guide.owned`); `crds` define custom resources.
    """

    manifest: str
    live: str = ""
    last_applied: str = ""
    owners: str = ""
    crds: str = ""
    mode: ApplyMode = ApplyMode.SERVER
    field_manager: str = SERVER_SIDE_MANAGER
    is_forced: bool = False
    takes_client_side: bool = True

    @property
    def has_unknown_owners(self) -> bool:
        """Whether ownership decides, but live has no managedFields, because `kubectl get -o yaml` omits them."""
        is_silent = not self.owners.strip() and "managedFields" not in self.live
        return self.mode is ApplyMode.SERVER and bool(self.live.strip()) and is_silent


class PlaygroundQueryProblem(Struct, frozen=True):
    """A problem in one input text: the name of its field in `PlaygroundQuery`, and a message.

    - `document`: the object of the text that it is about, from 0. Its line follows from the text that the person wrote;
      texts with secrets are calculated in another form (`playground.name_lines`).
    """

    part: str
    reason: str
    document: int | None = None


@dataclass(eq=False)
class PlaygroundQueryError(ApplyVizError):
    """The input is invalid; lists every problem."""

    problems: tuple[PlaygroundQueryProblem, ...] = ()

    def __str__(self) -> str:
        return "; ".join(f"{p.part}: {p.reason}" for p in self.problems)
