"""The objects that `patches` and `moves` of a body name: `Deployment/NAMESPACE/NAME`.

Rule: the kind is written as kubectl writes it (`deployment`, `Widget.v1.example.com`); the namespace of a kind without
one is empty or left out. `apps/Deployment/shop/web`, as the rest of the API names objects, is understood too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from applyviz.engine.objects.errors import ManifestError
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.requests.resource_names import parse_object
from applyviz.web.api.problems import ProblemsError, SourceProblem
from applyviz.workflow.plans.field_names import FieldHolder

WRITE = "write the object as Deployment/NAMESPACE/NAME"


@dataclass
class EntryReader:
    """Reads the entries of a list in a body; collects every problem with the field that has it."""

    name: str
    problems: list[SourceProblem] = field(default_factory=list)

    def note(self, number: int, part: str, text: str) -> None:
        """Note a problem of one entry."""
        self.problems.append(SourceProblem(text, field=f"{self.name}[{number}]{'.' if part else ''}{part}"))

    def read(self, given: JSONValue, most: int, known: Iterable[str]) -> Iterator[tuple[int, JSONObject]]:
        """Yield the entries that are maps of known fields; the others are problems."""
        if not isinstance(given, list) or len(given) > most:
            shown = ", ".join(known)
            self.problems.append(SourceProblem(f"{self.name} is a list of at most {most}: [{{{shown}}}]", self.name))
            return
        for number, entry in enumerate(given):
            if not isinstance(entry, Mapping):
                self.note(number, "", f"must be an object with {', '.join(known)}")
                continue
            for name in [name for name in entry if name not in known]:
                self.note(number, "", f"there is no field {str(name)[:80]!r}")
            yield number, entry

    def read_choice(self, number: int, entry: JSONObject, name: str, choices: Iterable[str], default: str = "") -> str:
        """Return one of some texts; `default` where the entry has none."""
        value = entry.get(name) or default
        if isinstance(value, str) and value in choices:
            return value
        self.note(number, name, f"must be one of {', '.join(filter(None, choices))}")
        return default

    def read_texts(self, number: int, entry: JSONObject, name: str) -> tuple[str, ...]:
        """Return a list of texts, each once."""
        value = entry.get(name) or []
        if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
            return tuple(dict.fromkeys(value))
        self.note(number, name, "must be a list of texts")
        return ()

    def raise_problems(self) -> None:
        """Raise `ProblemsError` if there are any."""
        if self.problems:
            raise ProblemsError(self.problems)


def _split(text: str) -> tuple[str, str | None, str]:
    """Return the kind, the namespace (None where none is written) and the name of a target."""
    parts = text.split("/")
    if len(parts) == 4:
        group = "" if parts[0] == "core" else f".{parts[0]}"
        return f"{parts[1]}{group}", parts[2], parts[3]
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    return parts[0], None, parts[-1] if len(parts) == 2 else ""


def parse_target(text: str, *, namespace: str) -> ObjectRef:
    """Return the object that a target names; raises `ManifestError` with how to write it.

    - `namespace`: that of a target which leaves it out.
    """
    kind, space, name = _split(text)
    if not kind or not name:
        raise ManifestError(f"{text[:200]} names no object: {WRITE}")
    return parse_object(f"{kind}/{name}", namespace=namespace if space is None else space)


def find_holder(text: str, holders: Mapping[str, FieldHolder], *, namespace: str) -> FieldHolder | None:
    """Return the object of a set that a target names; None for none, or for several.

    - The version of a kind need not be written here: the set has it.
    """
    key: tuple[str, ...] = ()
    with suppress(ManifestError):
        key = parse_target(text, namespace=namespace).key
    exact = [holder for named, holder in holders.items() if named == text or holder.ref.key == key]
    kind, space, name = _split(text)
    wanted = (kind.partition(".")[0], namespace if space is None else space, name)
    alike = [h for h in holders.values() if (h.ref.gvk.kind, h.ref.namespace, h.ref.name) == wanted]
    found = exact or alike
    return found[0] if len(found) == 1 else None
