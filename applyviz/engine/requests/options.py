"""The options of an apply: every choice that changes the requests, in one frozen value.

The forms build it, the command line of a recorded story is parsed to it, the plan stores it. The defaults are the
product's.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct, field

from applyviz.engine.channels.model import ChannelPlan
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.structs import replace

SERVER_SIDE_MANAGER = "kubectl"
PRODUCT_MANAGER = "applyviz"
# The name that the Kubernetes documentation gives the manager that keeps a value until an autoscaler writes it.
HANDOVER_MANAGER = "handover-to-hpa"


class ApplyMode(StrEnum):
    """Client-side (three-way patch) or server-side (apply patch) apply."""

    CLIENT = "client"
    SERVER = "server"


class Validation(StrEnum):
    """The `fieldValidation` sent to the server."""

    STRICT = "Strict"
    WARN = "Warn"
    IGNORE = "Ignore"


class DryRun(StrEnum):
    """kubectl's `--dry-run`."""

    NONE = "none"
    CLIENT = "client"
    SERVER = "server"


class SetAction(StrEnum):
    """The action on the objects of the manifests: `kubectl apply -f`, `kubectl delete -f`, `kubectl patch`, and two on
    their records.

    - SET_LAST_APPLIED: `kubectl apply set-last-applied -f --create-annotation`; CLEAR_OWNERSHIP: managedFields become
      empty.
    """

    APPLY = "apply"
    DELETE = "delete"
    PATCH = "patch"
    SET_LAST_APPLIED = "set-last-applied"
    CLEAR_OWNERSHIP = "clear-managed-fields"


class ClearPatch(StrEnum):
    """The patch that clears managedFields: a JSON merge patch, or a JSON patch, which fails without managedFields."""

    MERGE = "merge"
    JSON = "json"


class PruneMode(StrEnum):
    """Which objects outside the set are deleted."""

    NONE = "none"
    ALLOWLIST = "allowlist"
    APPLYSET = "applyset"
    NAMED = "named"


class Propagation(StrEnum):
    """What happens to the objects that belong to a deleted one (`propagationPolicy`)."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


class Order(StrEnum):
    """The order of a set: `as-given` is kubectl's; `dependency` is ours (namespaces and CRDs first, webhooks last)."""

    AS_GIVEN = "as-given"
    DEPENDENCY = "dependency"


class Prune(Struct, frozen=True):
    """Prune mode with its allowlist (`group/version/kind` texts) or its ApplySet parent (`kind/name`).

    - Named: `allowlist` lists the objects to delete, each as `group/version/kind/namespace/name/uid`.
    - `excepted` (`group/Kind`, `core` for no group): kinds that are not pruned although their objects match; those that
      belong to an ApplySet stay members of it.
    """

    mode: PruneMode = PruneMode.NONE
    allowlist: tuple[str, ...] = ()
    applyset: str = ""
    is_all: bool = False
    excepted: tuple[str, ...] = ()


class Handover(Struct, frozen=True):
    """One field that an apply gives up while it keeps its value.

    - `key`: the object (`ObjectRef.key`); `path`: the field; `manager`: the owner afterwards if no other owns it.
    """

    key: tuple[str, ...]
    path: FieldPath
    manager: str = HANDOVER_MANAGER


class TakenField(Struct, frozen=True):
    """One field that an apply takes from another field manager, which then no longer owns it.

    - `key`: the object (`ObjectRef.key`); `path`: the field; `manager`: the owner that gives it up.
    - `is_live`: the manifest gets the live value first, as the edit of its file then says. Without a manager, all
      other managers give the field up; a client-side apply requires none to.
    """

    key: tuple[str, ...]
    path: FieldPath
    manager: str = ""
    is_live: bool = False


class TakenManager(Struct, frozen=True):
    """One field manager that gives up its fields in one object (`key`, as `ObjectRef.key`)."""

    key: tuple[str, ...]
    manager: str


class Replacement(Struct, frozen=True):
    """Which objects are deleted and created again if the server refuses their change as immutable.

    - `objects`: chosen one by one, each as `group/kind/namespace/name` (the group `core` for none), or without group.
    - `kinds`: chosen by the requester, as `group/kind` or `kind`; `policy_kinds` (`group/kind`) and `annotations` by
      policies. An object is chosen too if its manifest has one of the annotations with the value `true`.
    """

    objects: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    policy_kinds: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()


class ApplyOptions(Struct, frozen=True):
    """The options that decide what an apply sends.

    `takes_over` is the API's force for server-side apply; `is_replacing_on_error` is kubectl's `--force` (delete and
    create on 409 and 422); `has_preconditions` puts uid and resourceVersion into every write. `namespace` is the
    default for objects without one; `is_namespace_enforced` if it was given explicitly (a mismatch is then an error).

    `takes_client_side`: an apply that changes sides moves field ownership. A server-side apply first takes over what
    client-side apply owns of an object, as kubectl does; a client-side apply moves what this manager or `kubectl`
    applied server-side to its own Update entry. `takes_from` names further managers of the other side. The manager
    `kubectl` always takes over from client-side apply.

    `taken_managers` names such managers for single objects.

    `handovers`: the fields that manifests give up to other managers; each keeps its live value. `taken_fields`: the
    fields that they take from others.

    `replacement` chooses the objects that may be replaced; `propagation` and `deletion_seconds` say how objects are
    deleted, and how long to wait until one is gone.

    `left_out` names the objects of the set that are not applied, as `Replacement.objects` does, and `left_out_reason`
    says why. They stay members of the set; while one is left out, nothing is pruned.

    `channel` is the choice for the addons of a kOps channel; only the objects of the chosen ones are applied, addon by
    addon, and each addon prunes by its own kinds. `addons_anyway` names those that a person wants planned although kOps
    skips them, `marking_addons` those whose update marks the nodes for a rolling update.

    `action`: what happens to the objects of the manifests. For deletions only `namespace`, `propagation`,
    `deletion_seconds`, `has_preconditions` and `left_out` count; for patches and for actions on records only
    `namespace`, `field_manager`, `validation`, `has_preconditions` and `left_out`; a revert of them uses the others.
    `clear_patch` is how managedFields are cleared.
    """

    mode: ApplyMode = ApplyMode.SERVER
    field_manager: str = PRODUCT_MANAGER
    takes_over: bool = False
    takes_client_side: bool = True
    takes_from: tuple[str, ...] = ()
    is_overwriting: bool = True
    validation: Validation = Validation.STRICT
    namespace: str = "default"
    is_namespace_enforced: bool = False
    subresource: str = ""
    dry_run: DryRun = DryRun.NONE
    selector: str = ""
    is_recursive: bool = False
    prune: Prune = field(default_factory=Prune)
    order: Order = Order.DEPENDENCY
    has_preconditions: bool = True
    is_replacing_on_error: bool = False
    handovers: tuple[Handover, ...] = ()
    taken_fields: tuple[TakenField, ...] = ()
    taken_managers: tuple[TakenManager, ...] = ()
    replacement: Replacement = field(default_factory=Replacement)
    propagation: Propagation = Propagation.BACKGROUND
    deletion_seconds: int = 60
    left_out: tuple[str, ...] = ()
    left_out_reason: str = ""
    channel: ChannelPlan | None = None
    addons_anyway: tuple[str, ...] = ()
    marking_addons: tuple[str, ...] = ()
    action: SetAction = SetAction.APPLY
    clear_patch: ClearPatch = ClearPatch.MERGE

    @property
    def is_deleting(self) -> bool:
        """Return whether the objects of the manifests are deleted."""
        return self.action is SetAction.DELETE

    @property
    def is_patching(self) -> bool:
        """Return whether the objects are patched."""
        return self.action is SetAction.PATCH

    @property
    def is_applying(self) -> bool:
        """Return whether the objects of the manifests are applied."""
        return self.action is SetAction.APPLY

    @property
    def is_recording(self) -> bool:
        """Return whether only a record of each object is written: last-applied, or no managedFields."""
        return self.action in (SetAction.SET_LAST_APPLIED, SetAction.CLEAR_OWNERSHIP)

    def list_handovers(self, key: tuple[str, ...]) -> tuple[Handover, ...]:
        """Return the fields of one object that its manifest gives up."""
        return tuple(one for one in self.handovers if one.key == key)

    def of_object(self, key: tuple[str, ...]) -> ApplyOptions:
        """Return the options for one object: `takes_from` also has the managers that are named for it alone."""
        if not self.taken_managers:
            return self
        names = (*self.takes_from, *(one.manager for one in self.taken_managers if one.key == key))
        return replace(self, takes_from=tuple(dict.fromkeys(names)), taken_managers=())

    def list_taken(self, key: tuple[str, ...]) -> tuple[TakenField, ...]:
        """Return the fields of one object that its manifest takes from other managers."""
        return tuple(one for one in self.taken_fields if one.key == key)
