"""Choose what happens with each addon of a channel: install, update or skip.

Rule: `channels/pkg/channels` of kOps, since version 1.22. Among the entries of one name for this version of Kubernetes
a later one goes before an earlier one if its id or hash differs. An addon is updated if the id, then the hash of the
manifest, then the generation of the record differs, never to an older generation. A version in a channel decides
nothing: older versions of kOps compared it, and none since 1.22 does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from applyviz.engine.channels.model import (
    SYSTEM_GENERATION,
    Addon,
    AddonAction,
    AddonPlan,
    AddonReason,
    AddonRecord,
)
from applyviz.engine.channels.versions import Key, RangeError, is_in_range, read_cluster_version

_UPDATES = {
    AddonReason.OTHER_ID: AddonAction.UPDATE,
    AddonReason.OTHER_MANIFEST: AddonAction.UPDATE,
    AddonReason.OLDER_GENERATION: AddonAction.UPDATE,
    AddonReason.NEWER_GENERATION: AddonAction.SKIP,
    AddonReason.SAME: AddonAction.SKIP,
}


def hash_manifest(data: bytes) -> str:
    """Return the hash that a channel names for a file: SHA-256 without the final newline."""
    return hashlib.sha256(data.removesuffix(b"\n")).hexdigest()


def find_faults(addons: Iterable[Addon], files: Mapping[str, bytes]) -> dict[Addon, AddonReason]:
    """Return why addons cannot be planned from these files; nothing for those that can.

    - An addon without a hash is applied unchecked; the hash may also cover the whole file. A file is hashed once,
      however many entries name it.
    """
    hashes: dict[str, tuple[str, str]] = {}
    found = {}
    for addon in addons:
        data = files.get(addon.file)
        if data is None:
            found[addon] = AddonReason.NO_MANIFEST
        elif addon.manifest_hash:
            if addon.file not in hashes:
                hashes[addon.file] = (hash_manifest(data), hashlib.sha256(data).hexdigest())
            if addon.manifest_hash.lower() not in hashes[addon.file]:
                found[addon] = AddonReason.WRONG_HASH
    return found


def read_record(text: str) -> AddonRecord | None:
    """Return the content of an annotation; None if it is not that of an addon, which then counts as not installed."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        if not isinstance(value, dict):
            return None
        found = [value.get(name) for name in ("id", "manifestHash", "systemGeneration")]
        id_, hash_, generation = (default if v is None else v for v, default in zip(found, ("", "", 0), strict=True))
        if isinstance(id_, str) and isinstance(hash_, str) and type(generation) is int:
            return AddonRecord(id_, hash_, generation)
    return None


def compare(addon: Addon, installed: AddonRecord) -> AddonReason:
    """Return how an entry differs from what is installed, by the first difference that kOps looks at."""
    if addon.id != installed.id:
        return AddonReason.OTHER_ID
    if addon.manifest_hash != installed.manifest_hash:
        return AddonReason.OTHER_MANIFEST
    if installed.generation < SYSTEM_GENERATION:
        return AddonReason.OLDER_GENERATION
    return AddonReason.NEWER_GENERATION if installed.generation > SYSTEM_GENERATION else AddonReason.SAME


def _find_mismatch(addon: Addon, version: Key) -> AddonReason | None:
    if not addon.kubernetes_version:
        return None
    try:
        is_for_this = is_in_range(version, addon.kubernetes_version)
    except RangeError:
        return AddonReason.UNREADABLE_RANGE
    return None if is_for_this else AddonReason.OTHER_KUBERNETES


def _find_winners(addons: Sequence[Addon], mismatches: Sequence[AddonReason | None]) -> set[int]:
    """Return the numbers of the entries that count, one for each name."""
    winners: dict[str, int] = {}
    for number, addon in enumerate(addons):
        if mismatches[number] is not None:
            continue
        earlier = addons[winners[addon.name]] if addon.name in winners else None
        if earlier is None or (addon.id, addon.manifest_hash) != (earlier.id, earlier.manifest_hash):
            winners[addon.name] = number
    return set(winners.values())


def _choose_one(addon: Addon, annotation: str | None, fault: AddonReason | None) -> AddonPlan:
    installed = None if annotation is None else read_record(annotation)
    if installed is None:
        reason = AddonReason.NOT_INSTALLED if annotation is None else AddonReason.UNREADABLE_RECORD
        action = AddonAction.INSTALL
    else:
        reason = compare(addon, installed)
        action = _UPDATES[reason]
    if fault is not None and action is not AddonAction.SKIP:
        return AddonPlan(addon, AddonAction.NOT_PLANNED, fault, installed)
    return AddonPlan(addon, action, reason, installed)


def choose(
    addons: Iterable[Addon],
    *,
    kubernetes: str,
    annotations: Mapping[str, Mapping[str, str]],
    faults: Mapping[Addon, AddonReason],
) -> tuple[AddonPlan, ...]:
    """Return the choice for each entry, in order.

    - `kubernetes`: the version of the server; `annotations`: those of each namespace; `faults`: why an addon cannot be
      planned.
    - Raises `RangeError` for a version of the server that cannot be read.
    """
    addons, version = tuple(addons), read_cluster_version(kubernetes)
    mismatches = [_find_mismatch(addon, version) for addon in addons]
    winners = _find_winners(addons, mismatches)
    found = []
    for number, addon in enumerate(addons):
        mismatch = mismatches[number]
        if mismatch is None and number not in winners:
            mismatch = AddonReason.OTHER_ENTRY
        if mismatch is not None:
            found.append(AddonPlan(addon, AddonAction.SKIP, mismatch))
        else:
            annotation = annotations.get(addon.namespace, {}).get(addon.annotation)
            found.append(_choose_one(addon, annotation, faults.get(addon)))
    return tuple(found)
