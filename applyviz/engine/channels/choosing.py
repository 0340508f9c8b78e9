"""Choose what happens with each addon of a channel: install, update or skip.

Rule: `docs/contributing/addons.md` and `channels/pkg/channels` of kOps. Among the entries of one name for this version
of Kubernetes the greatest version counts; without a greater version a later entry replaces an earlier one if its id or
hash differs. An addon is updated to a greater version, never to a lower one; then its id, the hash of its manifest and
the generation of its record are compared, never to an older generation. Versions are compared where the entry and the
record both name one: channels of kOps 1.22 and later have none, or 9.99.0 for all addons.

A person may choose to plan an addon that kOps skips. If no entry of it is for this version of Kubernetes, the one that
would count if all of them were is planned.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from applyviz.engine.channels.model import (
    ANNOTATION_PREFIX,
    SYSTEM_GENERATION,
    Addon,
    AddonAction,
    AddonFault,
    AddonPlan,
    AddonReason,
    AddonRecord,
)
from applyviz.engine.channels.versions import (
    Key,
    RangeError,
    is_in_range,
    read_addon_version,
    read_cluster_version,
)
from applyviz.engine.objects.structs import replace

_UPDATES = {
    AddonReason.GREATER_VERSION: AddonAction.UPDATE,
    AddonReason.LOWER_VERSION: AddonAction.SKIP,
    AddonReason.UNREADABLE_VERSION: AddonAction.UPDATE,
    AddonReason.OTHER_ID: AddonAction.UPDATE,
    AddonReason.OTHER_MANIFEST: AddonAction.UPDATE,
    AddonReason.OLDER_GENERATION: AddonAction.UPDATE,
    AddonReason.NEWER_GENERATION: AddonAction.SKIP,
    AddonReason.SAME: AddonAction.SKIP,
}


def hash_manifest(data: bytes) -> str:
    """Return the hash that a channel names for a file: SHA-256 without the final newline."""
    return hashlib.sha256(data.removesuffix(b"\n")).hexdigest()


def find_faults(addons: Iterable[Addon], files: Mapping[str, bytes]) -> dict[Addon, AddonFault]:
    """Return why addons cannot be planned from these files; nothing for those that can.

    - An addon without a hash is applied unchecked; the hash may also cover the whole file. A file is hashed once,
      however many entries name it.
    """
    hashes: dict[str, tuple[str, str]] = {}
    found = {}
    for addon in addons:
        data = files.get(addon.file)
        if data is None:
            found[addon] = AddonFault(AddonReason.NO_MANIFEST)
        elif addon.manifest_hash:
            if addon.file not in hashes:
                hashes[addon.file] = (hash_manifest(data), hashlib.sha256(data).hexdigest())
            if addon.manifest_hash.lower() not in hashes[addon.file]:
                found[addon] = AddonFault(AddonReason.WRONG_HASH, hashes[addon.file][0])
    return found


def read_record(text: str) -> AddonRecord | None:
    """Return the content of an annotation; None if it is not that of an addon, which then counts as not installed."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        if not isinstance(value, dict):
            return None
        given = {name: found for name, found in value.items() if found is not None}
        texts = [given.get(name, "") for name in ("id", "manifestHash", "version", "channel")]
        generation = given.get("systemGeneration", 0)
        if all(isinstance(text, str) for text in texts) and type(generation) is int:
            id_, hash_, version, channel = texts
            return AddonRecord(id_, hash_, generation, version, channel)
    return None


def _compare_versions(addon: Addon, installed: AddonRecord) -> AddonReason | None:
    """Return how the versions differ; None if they are equal, or one of the two names none."""
    if not addon.version or not installed.version:
        return None
    try:
        before = read_addon_version(installed.version)
    except RangeError:
        return AddonReason.UNREADABLE_VERSION
    after = read_addon_version(addon.version)
    if after == before:
        return None
    return AddonReason.GREATER_VERSION if after > before else AddonReason.LOWER_VERSION


def compare(addon: Addon, installed: AddonRecord) -> AddonReason:
    """Return how an entry differs from what is installed, by the first difference that counts."""
    by_version = _compare_versions(addon, installed)
    if by_version is not None:
        return by_version
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


def _as_record(addon: Addon) -> AddonRecord:
    return AddonRecord(addon.id, addon.manifest_hash, SYSTEM_GENERATION, addon.version)


def _find_winners(addons: Sequence[Addon], mismatches: Sequence[AddonReason | None]) -> Mapping[str, int]:
    """Return the number of the entry that counts for each name, or would count if it were for this Kubernetes."""
    fitting = {addon.name for addon, mismatch in zip(addons, mismatches, strict=True) if mismatch is None}
    winners: dict[str, int] = {}
    for number, addon in enumerate(addons):
        if mismatches[number] is not None and addon.name in fitting:
            continue
        earlier = winners.get(addon.name)
        if earlier is None or _UPDATES[compare(addon, _as_record(addons[earlier]))] is AddonAction.UPDATE:
            winners[addon.name] = number
    return winners


def _skip_entry(addon: Addon, preferred: Addon, *, is_earlier: bool) -> AddonPlan:
    """Return the choice for an entry in whose place another one of its name counts."""
    reason = AddonReason.OTHER_ENTRY if is_earlier else AddonReason.SAME_ENTRY
    if _compare_versions(addon, _as_record(preferred)) is AddonReason.LOWER_VERSION:
        reason = AddonReason.LOWER_ENTRY
    return AddonPlan(addon, AddonAction.SKIP, reason, preferred=replace(preferred, prune=()))


def _find_absence(addon: Addon, annotation: str | None, missing: Collection[str]) -> AddonReason:
    if addon.namespace in missing:
        return AddonReason.NO_NAMESPACE
    return AddonReason.NOT_INSTALLED if annotation is None else AddonReason.UNREADABLE_RECORD


def _choose_one(addon: Addon, annotation: str | None, missing: Collection[str]) -> AddonPlan:
    installed = None if annotation is None else read_record(annotation)
    if installed is None:
        return AddonPlan(addon, AddonAction.INSTALL, _find_absence(addon, annotation, missing))
    reason = compare(addon, installed)
    return AddonPlan(addon, _UPDATES[reason], reason, installed)


def _take_anyway(one: AddonPlan) -> AddonPlan:
    """Return the choice for a skipped addon that a person wants planned; the reason stays that of kOps."""
    action = AddonAction.INSTALL if one.installed is None else AddonAction.UPDATE
    return replace(one, action=action, is_anyway=True)


def _check_manifest(one: AddonPlan, fault: AddonFault | None) -> AddonPlan:
    """Return the choice for an addon whose manifest may be missing or another one."""
    if one.action is AddonAction.SKIP:
        return replace(one, can_be_planned=fault is None)
    if fault is None:
        return one
    return AddonPlan(one.addon, AddonAction.NOT_PLANNED, fault.reason, one.installed, found_hash=fault.manifest_hash)


def _list_others(addons: Iterable[Addon], annotations: Mapping[str, Mapping[str, str]]) -> Iterator[AddonPlan]:
    """Yield the installed addons that the channel does not list, or lists for another namespace."""
    listed = {(addon.namespace, addon.annotation) for addon in addons}
    by_annotation = {addon.annotation: replace(addon, prune=()) for addon in addons}
    for namespace, found in annotations.items():
        for name, text in found.items():
            record = read_record(text) if name.startswith(ANNOTATION_PREFIX) else None
            if record is not None and (namespace, name) not in listed:
                addon = Addon(name.removeprefix(ANNOTATION_PREFIX), namespace=namespace)
                elsewhere = by_annotation.get(name)
                reason = AddonReason.OTHER_NAMESPACE if elsewhere else AddonReason.NOT_IN_CHANNEL
                yield AddonPlan(addon, AddonAction.SKIP, reason, record, preferred=elsewhere)


def choose(
    addons: Iterable[Addon],
    *,
    kubernetes: str,
    annotations: Mapping[str, Mapping[str, str]],
    faults: Mapping[Addon, AddonFault],
    missing: Collection[str] = (),
    anyway: Collection[str] = (),
) -> tuple[AddonPlan, ...]:
    """Return the choice for each entry, in order, then the installed addons that the channel does not list.

    - `kubernetes`: the version of the server; `annotations`: those of each namespace; `faults`: why an addon cannot be
      planned; `missing`: the namespaces that the cluster does not have; `anyway`: the names of addons that are planned
      although kOps skips them.
    - Raises `RangeError` for a version of the server that cannot be read.
    """
    addons, version = tuple(addons), read_cluster_version(kubernetes)
    mismatches = [_find_mismatch(addon, version) for addon in addons]
    winners = _find_winners(addons, mismatches)
    found = []
    for number, addon in enumerate(addons):
        mismatch, winner = mismatches[number], winners[addon.name]
        if winner == number:
            one = _choose_one(addon, annotations.get(addon.namespace, {}).get(addon.annotation), missing)
            one = one if mismatch is None else replace(one, action=AddonAction.SKIP, reason=mismatch)
            is_wanted = addon.name in anyway and one.action is AddonAction.SKIP
            found.append(_check_manifest(_take_anyway(one) if is_wanted else one, faults.get(addon)))
        elif mismatch is not None:
            found.append(AddonPlan(addon, AddonAction.SKIP, mismatch))
        else:
            found.append(_skip_entry(addon, addons[winner], is_earlier=number < winner))
    return (*found, *_list_others(addons, annotations))
