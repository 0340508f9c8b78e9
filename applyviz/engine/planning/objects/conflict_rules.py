"""Conflict rules: resolutions for every plan of a cluster, for one field of the objects that a rule names.

A rule applies only to the field managers that it names, so that unreviewed managers are never forced out. A rule that
gives a field up to its owner also removes it from the request while that owner has it and the values happen to be
equal. Server-side apply only: a client-side apply would delete a field that leaves the manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase

from msgspec import Struct

from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.ownership.managed_fields import read_owners
from applyviz.engine.planning.conflicts.manifest_paths import list_steps
from applyviz.engine.planning.conflicts.resolutions import ResolutionChoice, ResolutionKind
from applyviz.engine.planning.digest.effects import is_ignored
from applyviz.engine.planning.model.plan import PlannedObject


class RuleResolution(StrEnum):
    """The effect of a conflict rule on its field: a resolution, or ignoring the field in comparisons."""

    OVERWRITE = ResolutionKind.OVERWRITE.value
    GIVE_UP = ResolutionKind.GIVE_UP.value
    SHARE = ResolutionKind.SHARE.value
    IGNORE = "ignore"


class FieldRule(Struct, frozen=True):
    """One rule: objects of one kind by a name pattern, one field, one resolution.

    - `name` is a pattern with `*`; `namespace` "" means every namespace, `manager` "" every field manager; `number` is
      0 before the rule is proposed.
    """

    group: str
    kind: str
    namespace: str
    name: str
    path: FieldPath
    resolution: RuleResolution
    manager: str = ""
    number: int = 0

    def covers(self, ref: ObjectRef) -> bool:
        """Return whether the rule names an object."""
        is_kind = (self.group, self.kind) == (ref.gvk.group, ref.gvk.kind)
        return is_kind and self.namespace in ("", ref.namespace) and fnmatchcase(ref.name, self.name)

    def answers(self, conflict: Conflict) -> bool:
        """Return whether the rule resolves a conflict."""
        return (
            self.resolution is not RuleResolution.IGNORE
            and self.path == conflict.path
            and self.manager in ("", conflict.manager)
        )

    @property
    def plain_path(self) -> tuple[str, ...]:
        """The field as effects name it: list entries by their name, else any entry."""
        return tuple(_plain_step(element) for element in self.path)


def is_left_out(change: PlannedObject, path: FieldPath) -> bool:
    """Return whether a rule ignores a field in comparisons; the manifest must not set it."""
    plain = tuple(_plain_step(element) for element in path)
    return is_ignored(plain, change.ignored, change.versions.manifest or {})


def _plain_step(element: str) -> str:
    named = element_value(element)
    if element.startswith("f:"):
        return str(named)
    return str(named["name"]) if element.startswith("k:") and "name" in named else "*"


def answer_conflicts(
    rules: Iterable[FieldRule], conflicts: Iterable[Conflict]
) -> Iterator[tuple[ResolutionChoice, int]]:
    """Yield the resolutions of rules, each with the number of its rule; the first rule for a field wins.

    - The same rule must cover every other manager that conflicts over the field, or the field stays open.
    """
    by_path: dict[FieldPath, list[Conflict]] = {}
    for conflict in conflicts:
        by_path.setdefault(conflict.path, []).append(conflict)
    rules = tuple(rules)
    for path, found in by_path.items():
        rule = next((r for r in rules if all(r.answers(c) for c in found)), None)
        if rule is not None:
            yield from (
                (ResolutionChoice(path, c.manager, ResolutionKind(rule.resolution.value)), rule.number) for c in found
            )


def leave_owned(
    rules: Iterable[FieldRule], manifest: JSONObject, live: JSONObject, *, you: str
) -> Iterator[tuple[ResolutionChoice, int]]:
    """Yield the fields that rules give up to their owners, although they do not conflict at the moment."""
    owners = None
    for rule in rules:
        if rule.resolution is not RuleResolution.GIVE_UP or len(list_steps(manifest, rule.path)) < len(rule.path):
            continue
        owners = read_owners(live) if owners is None else owners
        theirs = [o.manager for o in owners.of(rule.path) if o.manager != you and rule.manager in ("", o.manager)]
        if theirs:
            yield ResolutionChoice(rule.path, theirs[0], ResolutionKind.GIVE_UP), rule.number
