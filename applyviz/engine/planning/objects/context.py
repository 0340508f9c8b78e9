"""What planning is told from outside: kinds, the time, what may be asked, and what the set makes itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from applyviz.engine.planning.conflicts.file_edits import EditedText
from applyviz.engine.planning.conflicts.resolutions import ResolutionChoice
from applyviz.engine.planning.objects.conflict_rules import FieldRule
from applyviz.engine.planning.simulation.server_model import ServerModel
from applyviz.engine.requests.flow import Catalog, Deletion
from applyviz.engine.risks.model import RelatedObjects


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The surroundings of a plan.

    - `catalog`: schemas and addresses of kinds (a `SourceChain`).
    - `now`: RFC 3339 in UTC with whole seconds; it dates calculated managedFields entries.
    - `can_dry_run`: whether writes may be confirmed by the server; `dry_run_reason` says why not.
    - `namespaces_created`, `kinds_created` ((group, kind)): made by the same set, so not there yet.
    - `kinds_changed`: served already, and defined anew by the same set.
    - `has_notes`: whether reasons and risks are looked for; a runner, which compares effects alone, needs none.
    - `related`: the other objects that risks look at.
    - `rules`: conflict rules in force, the first one for a field wins; a decision goes before them.
    - `sources`: the text of each file, by name, for the edits that decisions ask of it.
    - `server`: estimates what a server makes of a write where no dry run answers; without it the merge result is all.
    - `decisions`: on conflicts, by the key of their object (`ObjectRef.key`); carried out when planning.
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
    deletion: Deletion = field(default_factory=lambda: Deletion(timeout=60))
