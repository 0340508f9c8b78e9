"""A risk as data: its kind, its path, and the facts for its sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final, TypeAlias

from msgspec import Struct, field

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import SourcePosition
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.references.resolving import Knowledge
from applyviz.engine.risks.containers import Container, list_containers
from applyviz.engine.risks.quota_reads import LiveQuotas
from applyviz.engine.schema.model import KindSchema


class RiskLevel(StrEnum):
    """The level of a risk; approvers must open and acknowledge a high one."""

    INFO = "info"
    MEDIUM = "medium"
    HIGH = "high"


LEVELS: Final = (RiskLevel.HIGH, RiskLevel.MEDIUM, RiskLevel.INFO)
"""The levels in the order in which risks are listed."""

Facts: TypeAlias = Mapping[str, str]
Templates: TypeAlias = tuple[str, ...]
KINDS: dict[str, RiskKind] = {}
"""Every declared kind by its slug; the package imports its modules, so that none is missing."""


@dataclass(frozen=True, eq=False)  # one object per slug
class RiskKind:
    """A kind of risk: its slug, and everything that pages, policies and rows know about it.

    - `title`: for lists and badges; `loud_title`: instead of it at the high level, if there is another one.
    - `sentence`: a template, or a function from the facts to templates; pages translate each before they fill it in.
    - `level`: the usual one.
    - `policy_order`: its position in the form of a policy, which may ask for more approvals because of it; 0: nowhere.
    - `is_of_plan`: a risk of a whole plan; `is_beside_field`: the row of its field shows its sentence.
    - Two kinds with one slug raise `ValueError`.
    """

    slug: str
    title: str
    sentence: str | Callable[[Facts], Templates]
    level: RiskLevel = RiskLevel.MEDIUM
    loud_title: str = ""
    policy_order: int = 0
    is_of_plan: bool = False
    is_beside_field: bool = False

    def __post_init__(self) -> None:
        if KINDS.setdefault(self.slug, self) is not self:
            raise ValueError(f"two risks have the slug {self.slug}")

    def __reduce__(self) -> tuple[Callable[[str], RiskKind], tuple[str]]:
        """Return how another process finds the same kind."""
        return find_kind, (self.slug,)

    def __str__(self) -> str:
        return self.slug

    def at(
        self,
        path: FieldPath = (),
        facts: Facts | None = None,
        position: SourcePosition | None = None,
        *,
        level: RiskLevel | None = None,
    ) -> Risk:
        """Return a risk of this kind, at its usual level unless another one is given."""
        return Risk(self, level or self.level, path, facts or {}, position or SourcePosition())


def find_kind(slug: str) -> RiskKind:
    """Return the declared kind with a slug.

    - Raises `KeyError` if there is none.
    """
    return KINDS[slug]


class Risk(Struct, frozen=True):
    """One risk of one object; `facts` fill its sentence and never hold values of Secrets."""

    kind: RiskKind
    level: RiskLevel
    path: FieldPath = ()
    facts: Facts = field(default_factory=dict)
    position: SourcePosition = field(default_factory=SourcePosition)


class RelatedObjects(Struct, frozen=True, dict=True):  # the dict holds cached properties
    """The other objects that rules may read: the manifests of the set, and live objects.

    - `manifests`: every object of the set, including the subject itself (HPA, PDB, Namespace, CRD …).
    - `live`: live objects that the planner has read, mostly autoscalers.
    - `neighbors`: live objects that references lead to or come from, without the values of ConfigMaps and Secrets;
      `knowledge` says which other objects do not exist.
    - `quotas`: the live quotas of the namespaces in which the set runs pods.
    """

    manifests: tuple[JSONObject, ...] = ()
    live: tuple[JSONObject, ...] = ()
    neighbors: tuple[JSONObject, ...] = ()
    knowledge: Knowledge = field(default_factory=Knowledge)
    quotas: LiveQuotas = field(default_factory=LiveQuotas)

    @cached_property
    def _by_kind(self) -> Mapping[str, tuple[JSONObject, ...]]:
        found: dict[str, list[JSONObject]] = {}
        for obj in (*self.manifests, *self.live):
            found.setdefault(str(obj.get("kind")), []).append(obj)
        return {kind: tuple(objects) for kind, objects in found.items()}

    def of_kind(self, kind: str) -> tuple[JSONObject, ...]:
        """Return all objects of one kind, manifests before live objects."""
        return self._by_kind.get(kind, ())

    @cached_property
    def live_names(self) -> frozenset[tuple[str, str]]:
        """The kind and name of every known live object."""
        return frozenset((str(o.get("kind")), str((o.get("metadata") or {}).get("name"))) for o in self.live)

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """The names of the namespaces among the manifests."""
        spaces = (o for o in self.manifests if o.get("kind") == "Namespace")
        return frozenset(str((o.get("metadata") or {}).get("name")) for o in spaces)


class RiskSubject(Struct, frozen=True, dict=True):  # the dict holds cached properties
    """The change of one object as the rules see it; every field but `ref` may be missing.

    - `manifest`, `last_applied`, `live`, `merged`, `after`: the versions, with managedFields where the server has them;
      `after` falls back to `merged` if no later stage is known.
    - `patch`: the body of the client-side patch to send (None: create, or server-side).
    - `kind`: None if no schema knows the kind.
    - `document`: the parsed manifest document (positions, retyped values, duplicate keys).
    - `applyset`: id of the ApplySet that this plan applies to, "" if none.
    - `resource_versions`: apiVersions of this group that the cluster serves; () if unknown.
    - `taken_managers`: field managers whose Update entries this one takes over before it applies.
    - `is_merge_only`: the server refused the object or left it alone, so `merged` was not completed by defaults;
      `is_refused`: nothing is written, whatever becomes of conflicts;
      `refused_fields`: the fields that the server names; `is_unchanged`: nothing is written; `is_forced`: an apply is
      sent with force, so that it never conflicts; `is_accepted`: the server accepted a dry run of what is sent.
    - `plural`: the resource's name; `dry_run_answer`: why the server's dry run gave no result, "" if it did.
    """

    ref: ObjectRef
    manifest: JSONObject | None = None
    last_applied: JSONObject | None = None
    live: JSONObject | None = None
    merged: JSONObject | None = None
    after: JSONObject | None = None
    patch: JSONValue = None
    is_server_side: bool = True
    field_manager: str = ""
    is_namespaced: bool = True
    kind: KindSchema | None = None
    document: ManifestDocument | None = None
    related: RelatedObjects = field(default_factory=RelatedObjects)
    applyset: str = ""
    resource_versions: tuple[str, ...] = ()
    plural: str = ""
    taken_managers: tuple[str, ...] = ()
    dry_run_answer: str = ""
    is_merge_only: bool = False
    is_refused: bool = False
    refused_fields: tuple[str, ...] = ()
    is_unchanged: bool = False
    is_forced: bool = False
    is_accepted: bool = False

    @property
    def result(self) -> JSONObject | None:
        """The last known version of what the object will be."""
        return self.merged if self.after is None else self.after

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """Every list and mapping of the manifest, from the top down; () without a manifest."""
        if self.manifest is None:
            return ()
        return list_containers(self.manifest, self.kind.root if self.kind is not None else None)
