"""The options of an apply: every choice that changes the requests, in one frozen value.

The forms build it, the command line of a recorded story is parsed to it, the plan stores it. The defaults are the
product's; `kubectl_options` returns kubectl's own for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

CLIENT_SIDE_MANAGER = "kubectl-client-side-apply"
SERVER_SIDE_MANAGER = "kubectl"
PRODUCT_MANAGER = "applyviz"


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


class PruneMode(StrEnum):
    """Which objects outside the set are deleted."""

    NONE = "none"
    ALLOWLIST = "allowlist"
    APPLYSET = "applyset"
    NAMED = "named"


class Order(StrEnum):
    """The order of a set: `as-given` is kubectl's; `dependency` is ours (namespaces and CRDs first, webhooks last)."""

    AS_GIVEN = "as-given"
    DEPENDENCY = "dependency"


@dataclass(frozen=True, slots=True)
class Prune:
    """Prune mode with its allowlist (`group/version/kind` texts) or its ApplySet parent (`kind/name`).

    - Named: `allowlist` lists the objects to delete, each as `group/version/kind/namespace/name/uid`.
    """

    mode: PruneMode = PruneMode.NONE
    allowlist: tuple[str, ...] = ()
    applyset: str = ""
    is_all: bool = False


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """The options that decide what an apply sends.

    `takes_over` is the API's force for server-side apply; `is_replacing_on_error` is kubectl's `--force` (delete and
    create on 409 and 422); `has_preconditions` puts uid and resourceVersion into every write. `namespace` is the
    default for objects without one; `is_namespace_enforced` if it was given explicitly (a mismatch is then an error).

    `takes_client_side`: an apply that changes sides moves field ownership. A server-side apply first takes over what
    client-side apply owns of an object, as kubectl does; a client-side apply moves what this manager or `kubectl`
    applied server-side to its own Update entry. `takes_from` names further managers of the other side. The manager
    `kubectl` always takes over from client-side apply.
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
