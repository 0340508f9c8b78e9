"""The inputs of planning: kinds, the time, what may be requested, and what the set itself creates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.planning.conflicts.file_edits import EditedText
from applyviz.engine.planning.conflicts.resolutions import ResolutionChoice
from applyviz.engine.planning.objects.conflict_rules import FieldRule
from applyviz.engine.planning.simulation.server_model import ServerModel
from applyviz.engine.requests.flow import Catalog, Deletion
from applyviz.engine.requests.options import ApplyOptions
from applyviz.engine.risks.model import RelatedObjects


class EarlierRun(Struct, frozen=True):
    """The last run of the same set: its number, its options, the names of its files, what it applied.

    - `pruned`: the last of its runs that pruned, where this one did not.
    """

    run: str
    options: ApplyOptions
    files: tuple[str, ...]
    objects: tuple[ObjectRef, ...] = ()
    pruned: EarlierRun | None = None


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """The inputs that all objects of a plan share.

    - `catalog`: schemas and addresses of kinds (a `SourceChain`).
    - `now`: RFC 3339 in UTC with whole seconds; it dates calculated managedFields entries.
    - `can_dry_run`: whether writes may be confirmed by the server; `dry_run_reason` says why not.
    - `namespaces_created`, `kinds_created` ((group, kind)): created by the same set, so not there yet.
    - `kinds_changed`: already served, and redefined by the same set.
    - `has_notes`: whether to find reasons and risks; a runner, which compares only effects, needs none.
    - `related`: the other objects that risk rules read.
    - `rules`: active conflict rules, the first one for a field wins; a person's resolution goes before them.
    - `sources`: the text of each file, by name, for the edits of resolutions.
    - `server`: estimates the answer of a server where no dry run is possible; without it, the merge result is used.
    - `earlier`: the last run of a set that prunes, None without one.
    - `deletion`: how objects are deleted, where it is not what the options say.
    - `find_critical`: names the policy that counts the kind of an object as critical, "" for none; None if none does.
    - `decisions`: resolutions of conflicts, by the key of their object (`ObjectRef.key`); applied during planning.
    """

    catalog: Catalog
    now: str
    can_dry_run: bool = True
    dry_run_reason: str = ""
    has_notes: bool = True
    namespaces_created: frozenset[str] = frozenset()
    kinds_created: frozenset[tuple[str, str]] = frozenset()
    kinds_changed: frozenset[tuple[str, str]] = frozenset()
    related: RelatedObjects = field(default_factory=RelatedObjects)
    applyset: str = ""
    decisions: Mapping[tuple[str, str, str, str], tuple[ResolutionChoice, ...]] = field(default_factory=dict)
    rules: tuple[FieldRule, ...] = ()
    sources: Mapping[str, EditedText] = field(default_factory=dict, repr=False)
    server: ServerModel | None = None
    deletion: Deletion | None = None
    earlier: EarlierRun | None = None
    find_critical: Callable[[ObjectRef], str] | None = None
