"""A kOps channel as data: the addons that it lists, and the choice for each of them on one cluster.

Rule: the addon management of kOps (`kind: Addons`). The choice is part of the options of a plan, so that a run applies
exactly the addons that were reviewed, whatever their annotations say by then.
"""

from __future__ import annotations

import json
from enum import StrEnum

from msgspec import Struct, field

from applyviz.engine.objects.errors import SourcePosition

ANNOTATION_PREFIX = "addons.k8s.io/"
KOPS_MANAGER = "kops"
SYSTEM_GENERATION = 1
"""The generation of kOps' own addon management that a record names: 1 since it prunes."""


class AddonAction(StrEnum):
    """The choice of a plan for one entry of a channel."""

    INSTALL = "install"
    UPDATE = "update"
    SKIP = "skip"
    NOT_PLANNED = "not-planned"


class AddonReason(StrEnum):
    """Why; each belongs to one action, but an addon that would be skipped may be planned anyway."""

    NOT_INSTALLED = "not-installed"
    UNREADABLE_RECORD = "unreadable-record"
    GREATER_VERSION = "greater-version"
    LOWER_VERSION = "lower-version"
    UNREADABLE_VERSION = "unreadable-version"
    NO_NAMESPACE = "no-namespace"
    OTHER_ID = "other-id"
    OTHER_MANIFEST = "other-manifest"
    OLDER_GENERATION = "older-generation"
    SAME = "same"
    NEWER_GENERATION = "newer-generation"
    OTHER_KUBERNETES = "other-kubernetes"
    UNREADABLE_RANGE = "unreadable-range"
    OTHER_ENTRY = "other-entry"
    LOWER_ENTRY = "lower-entry"
    SAME_ENTRY = "same-entry"
    NOT_IN_CHANNEL = "not-in-channel"
    OTHER_NAMESPACE = "other-namespace"
    NO_MANIFEST = "no-manifest"
    WRONG_HASH = "wrong-hash"


class PrunedKind(Struct, frozen=True):
    """One kind that an addon prunes: where (no namespaces: everywhere), and which objects of it."""

    group: str = ""
    kind: str = ""
    namespaces: tuple[str, ...] = ()
    label_selector: str = ""
    field_selector: str = ""

    @property
    def title(self) -> str:
        """The kind with its group, as kubectl names it: `Deployment.apps`."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


class Addon(Struct, frozen=True):
    """One entry of a channel.

    - `manifest`: a path relative to the channel, or an address; `file`: the name of that file in the source.
    - `manifest_hash`: the SHA-256 of the file without its final newline, "" if the channel names none.
    - `version`: a semantic version, "" in the channels of new versions of kOps.
    - `kubernetes_version`: the range of versions that the entry is for, "" for all.
    - `position`: where the entry starts in the channel.
    """

    name: str
    manifest: str = ""
    file: str = ""
    namespace: str = "kube-system"
    id: str = ""
    manifest_hash: str = ""
    kubernetes_version: str = ""
    needs_rolling_update: str = ""
    needs_pki: bool = False
    version: str = ""
    prune: tuple[PrunedKind, ...] = ()
    position: SourcePosition = field(default_factory=SourcePosition)

    @property
    def annotation(self) -> str:
        """The name of the annotation that records the installed addon."""
        return f"{ANNOTATION_PREFIX}{self.name}"


class AddonRecord(Struct, frozen=True):
    """The annotation of an addon: what is installed, and the channel that it came from."""

    id: str = ""
    manifest_hash: str = ""
    generation: int = 0
    version: str = ""
    channel: str = ""


class AddonFault(Struct, frozen=True):
    """Why an entry cannot be planned; `manifest_hash` is that of the file that is there, "" without one."""

    reason: AddonReason
    manifest_hash: str = ""


class AddonPlan(Struct, frozen=True):
    """The choice for one entry of a channel; `installed` is None without a readable annotation.

    - `preferred`: the entry of the same name that counts in place of this one, or of this record.
    - `found_hash`: the hash of a manifest that is not the one of the channel.
    - `nodes`: the first of those that kOps would mark for a rolling update, `more_nodes` the number of the others; None
      if it marks none at all, or they are not readable.
    - `unserved`: the kinds to prune that the cluster does not serve, so that it has no objects of them.
    - `marked`: the nodes that the plan marks for a rolling update, by choice.
    - `can_be_planned`: it is skipped, and a person may choose to plan it; `is_anyway`: a person chose that, and kOps
      would skip it for this reason.
    """

    addon: Addon
    action: AddonAction
    reason: AddonReason
    installed: AddonRecord | None = None
    preferred: Addon | None = None
    found_hash: str = ""
    unserved: tuple[str, ...] = ()
    nodes: tuple[str, ...] | None = None
    more_nodes: int = 0
    marked: tuple[str, ...] = ()
    can_be_planned: bool = False
    is_anyway: bool = False

    @property
    def is_applied(self) -> bool:
        """Whether the objects of the entry are applied."""
        return self.action in (AddonAction.INSTALL, AddonAction.UPDATE)

    @property
    def marks_nodes(self) -> bool:
        """Whether kOps would mark nodes for a rolling update: at an update, never at an installation."""
        return self.action is AddonAction.UPDATE and bool(self.addon.needs_rolling_update)


class ChannelPlan(Struct, frozen=True):
    """The choice for a whole channel, in its order.

    - `location`: the address or the file name of the channel, as the records name it.
    - `kubernetes`: the version of the server that decided.
    """

    file: str
    location: str = ""
    kubernetes: str = ""
    addons: tuple[AddonPlan, ...] = ()

    @property
    def applied(self) -> tuple[Addon, ...]:
        """The addons whose objects are applied, in order."""
        return tuple(one.addon for one in self.addons if one.is_applied)

    def find(self, name: str) -> Addon | None:
        """Return an applied addon by its name; the name identifies it, because kOps applies one entry per name."""
        found = self.find_choice(name)
        return None if found is None else found.addon

    def find_choice(self, name: str) -> AddonPlan | None:
        """Return the choice for an applied addon by its name."""
        return next((one for one in self.addons if one.is_applied and one.addon.name == name), None)

    def write_record(self, addon: Addon) -> str:
        """Return the value of the annotation of an installed addon, as kOps writes it."""
        facts = {
            "version": addon.version,
            "channel": self.location,
            "id": addon.id,
            "manifestHash": addon.manifest_hash,
        }
        record = {name: text for name, text in facts.items() if text}
        return json.dumps({**record, "systemGeneration": SYSTEM_GENERATION}, separators=(",", ":"), ensure_ascii=False)
