"""Explain removals that other owners block: who owns the field, what each owner must do, which write removes it.

Rule: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management: a field is removed when its
last owner drops it, or when any other write removes it; that write is calculated, and so is the apply that follows it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from applyviz.engine.explain.reasons import FieldReason, Reason
from applyviz.engine.objects.errors import ConflictError, OwnershipError
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import FieldPath, element_value
from applyviz.engine.objects.values import JSONObject, JSONValue, clone
from applyviz.engine.ownership import server_side, updates
from applyviz.engine.ownership.managed_fields import with_entries
from applyviz.engine.planning.conflicts.manifest_paths import PathWalker
from applyviz.engine.requests.members import Member
from applyviz.engine.schema.model import KindSchema
from applyviz.engine.schema.walk import list_leaves

_REMOVER = "kubectl-patch"
_CONTROLLERS = ("controller", "scheduler", "operator", "kubelet", "manager")
_TOOLS = ("argocd", "helm", "kustomize-controller", "helm-controller", "flux", "pulumi", "terraform")


class Keeper(StrEnum):
    """How a field owner keeps its field."""

    APPLIER = "applier"
    TOOL = "tool"
    CONTROLLER = "controller"
    BY_HAND = "by-hand"
    CLIENT_SIDE = "client-side"


class Holder(Struct, frozen=True):
    """One owner that keeps the field; `command` makes it give the field up, "" if only its source can."""

    owner: Owner
    keeper: Keeper
    command: str = ""


class BlockedRemoval(Struct, frozen=True):
    """How to remove one field that others keep.

    - `command` removes it from the live object, regardless of its owners; `is_gone`: whether the field is absent after
      that command and the apply of this plan; `returns`: whether some owner will write it again.
    """

    path: FieldPath
    holders: tuple[Holder, ...]
    command: str
    is_gone: bool
    returns: bool


class Intent(Struct, frozen=True):
    """The apply in question: the live object, the body, and the field manager."""

    live: JSONObject
    manifest: JSONObject
    kind: KindSchema
    member: Member
    manager: str
    now: str


def _sort_keeper(owner: Owner) -> Keeper:
    name = owner.manager.lower()
    if any(tool in name for tool in _TOOLS):
        return Keeper.TOOL
    if name == CLIENT_SIDE_MANAGER and owner.operation == "Update":
        return Keeper.CLIENT_SIDE
    if owner.operation == "Apply":
        return Keeper.APPLIER
    if owner.subresource or any(word in name for word in _CONTROLLERS):
        return Keeper.CONTROLLER
    return Keeper.BY_HAND


def _address(member: Member) -> list[str]:
    resource, namespace = member.resource, member.namespace
    kind = f"{resource.plural}.{resource.gvk.group}" if resource.gvk.group else resource.plural
    return [kind, member.ref.name, *(["--namespace", namespace] if namespace else [])]


def _join(*words: str) -> str:
    return " ".join(shlex.quote(word) for word in words)


def _hold(owner: Owner, member: Member) -> Holder:
    keeper = _sort_keeper(owner)
    namespace = ["--namespace", member.namespace] if member.namespace else []
    command = ""
    if keeper is Keeper.APPLIER:
        command = _join(
            "kubectl", "apply", "--server-side", f"--field-manager={owner.manager}", *namespace, "--filename"
        )
    if keeper is Keeper.CLIENT_SIDE:
        command = _join("kubectl", "apply", *namespace, "--filename")
    return Holder(owner, keeper, command)


def _point(path: Sequence[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _write_operations(walker: PathWalker, path: FieldPath) -> list[JSONObject] | None:
    """Return the JSON patch that removes a field, with tests that list entries have not moved."""
    found = walker.list_steps(path)
    if len(found) < len(path):
        return None
    operations: list[JSONObject] = []
    steps = [step for _container, step in found]
    for depth, element in enumerate(path[:-1]):
        if element.startswith("k:"):
            entry = found[depth][0][steps[depth]]
            keys = ((k, v) for k, v in element_value(element).items() if k in entry)
            operations += [{"op": "test", "path": _point([*steps[: depth + 1], k]), "value": v} for k, v in keys]
    return [*operations, {"op": "remove", "path": _point(steps)}]


def _count_back(step: tuple[JSONValue, str | int]) -> int:
    return -step[1] if isinstance(step[1], int) else 0


def _remove_exactly(live: JSONObject, paths: Sequence[FieldPath]) -> JSONObject:
    edited: Any = clone(dict(live))
    walker = PathWalker(edited)
    found = [walker.list_steps(path)[-1] for path in paths]
    unique = {(id(container), step): (container, step) for container, step in found}
    # In reverse order, so that the list entries still to be removed keep their positions.
    for container, step in sorted(unique.values(), key=_count_back):
        del container[step]
    return dict(edited)


def _list_there(obj: JSONObject, kind: KindSchema) -> set[FieldPath]:
    """Return every path at which an object has a value."""
    return {leaf[:n] for leaf in list_leaves(kind.root, obj) for n in range(1, len(leaf) + 1)}


def _find_gone(intent: Intent, paths: Sequence[FieldPath]) -> set[FieldPath]:
    """Return the fields that are absent after their commands and the apply that follows.

    - All are tried together, because the owner of one field is independent of the others. If they cannot be removed
      together, each half is tried alone, so that one refusal does not count for all.
    """
    try:
        removed = _remove_exactly(intent.live, paths)
        entries = updates.update(intent.live, removed, kind=intent.kind, manager=_REMOVER, now=intent.now)
        written = with_entries(removed, entries)
        after = server_side.apply(
            written, intent.manifest, kind=intent.kind, manager=intent.manager, force=True, now=intent.now
        ).result
    except (OwnershipError, ConflictError):
        half = len(paths) // 2
        return _find_gone(intent, paths[:half]) | _find_gone(intent, paths[half:]) if half else set()
    there = _list_there(after, intent.kind)
    return {path for path in paths if path not in there}


def find_blocked_removals(intent: Intent, reasons: Sequence[FieldReason]) -> Iterator[BlockedRemoval]:
    """Yield how to remove each field whose removal other owners block."""
    walker = PathWalker(intent.live)
    kept: list[tuple[FieldPath, list[Owner], list[JSONObject]]] = []
    for reason in reasons:
        if reason.reason is not Reason.STILL_OWNED_BY_OTHERS:
            continue
        # Fields that the manager wrote by means other than apply are kept like those of others.
        own = (intent.manager, "Apply")
        owners = [o for o in reason.owners_after or reason.owners_before if (o.manager, o.operation) != own]
        operations = _write_operations(walker, reason.path)
        if owners and operations is not None:
            kept.append((reason.path, owners, operations))
    gone = _find_gone(intent, [path for path, _, _ in kept]) if kept else set()
    for path, owners, operations in kept:
        holders = tuple(_hold(owner, intent.member) for owner in owners)
        patch = json.dumps(operations, separators=(",", ":"), ensure_ascii=False)
        command = _join("kubectl", "patch", *_address(intent.member), "--type=json", "--patch", patch)
        returns = any(holder.keeper is not Keeper.BY_HAND for holder in holders)
        yield BlockedRemoval(path, holders, command, path in gone, returns)
