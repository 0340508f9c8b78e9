"""Facts about one planned object that prove or refute a risk: exposure, owners, lists, and probes of a server.

Nothing here asks a rule of the engine; owners are read as managedFields has them, and what a server refuses is asked of
a sandbox that holds the same objects.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from applyviz.conformance import covering
from applyviz.conformance.covering import NOTHING
from applyviz.conformance.inputs import HeldCluster, Planned
from applyviz.engine.objects.exchange import APPLY_PATCH, JSON, Answer, Request
from applyviz.engine.objects.known_names import CLIENT_SIDE_MANAGER, LAST_APPLIED, LAST_APPLIED_PATH
from applyviz.engine.objects.paths import FieldPath, fields
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json, get_at
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import ApplyMode
from applyviz.engine.schema.model import Node
from applyviz.engine.schema.walk import list_leaves

_POD_SPECS = (("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"), ("spec",))
_TEXTS = {"ConfigMap": ("data", "binaryData"), "Secret": ("data", "stringData")}
_CARRIED = {
    "metrics": "autoscaling.alpha.kubernetes.io/metrics",
    "behavior": "autoscaling.alpha.kubernetes.io/behavior",
}
_RECORDS_OF_KUBECTL = frozenset({CLIENT_SIDE_MANAGER, "kubectl-last-applied", "before-first-apply"})


def _versions(planned: Planned) -> tuple[JSONObject, JSONObject, JSONObject]:
    """Return live, after and manifest of a planned object, {} for an absent one."""
    versions = planned.change.versions
    after = versions.after if versions.after is not None else versions.live
    return versions.live or {}, after or {}, versions.manifest or {}


def restarts_container(planned: Planned) -> bool:
    """Return whether a container that runs in a pod gets another image; ended init containers do not run again."""
    live, after, _manifest = _versions(planned)
    if (planned.change.ref.gvk.group, planned.change.ref.gvk.kind) != ("", "Pod") or not planned.change.has_effect:
        return False
    if _is_past_restarts(live):
        return False
    old, new = live.get("spec") or {}, after.get("spec") or {}
    sidecars = [one for one in new.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    images = {one["name"]: one.get("image") for one in [*(new.get("containers") or ()), *sidecars]}
    known = live.get("status") or {}
    states = [*(known.get("containerStatuses") or ()), *(known.get("initContainerStatuses") or ())]
    ended = {one.get("name") for one in states if "running" not in (one.get("state") or {})}
    running = {one.get("name") for one in states} - ended
    return any(
        one["name"] in images
        and images[one["name"]] != one.get("image")
        and (one["name"] in running or (bool(old.get("nodeName")) and one["name"] not in ended))
        for part in ("containers", "initContainers")
        for one in old.get(part) or ()
    )


def _is_past_restarts(pod: JSONObject) -> bool:
    """Return whether a pod has ended, is being deleted, or mirrors a static pod of a kubelet."""
    metadata = pod.get("metadata") or {}
    is_mirror = "kubernetes.io/config.mirror" in (metadata.get("annotations") or {})
    return (
        is_mirror or "deletionTimestamp" in metadata or get_at(pod, ("status", "phase"), "") in ("Succeeded", "Failed")
    )


def _list_numbers(service: JSONObject) -> set[JSONValue]:
    """Return the addresses and ports of a Service that clients may have noted."""
    spec = service.get("spec") or {}
    ports = [port.get("nodePort") for port in spec.get("ports") or ()]
    return {spec.get("clusterIP"), spec.get("healthCheckNodePort"), *(spec.get("clusterIPs") or ()), *ports}


def gives_up_address(planned: Planned) -> bool:
    """Return whether a Service of another type gives up its load balancer, a port or a cluster IP."""
    live, after, _manifest = _versions(planned)
    was, now = (get_at(obj, ("spec", "type"), None) for obj in (live, after))
    lost = _list_numbers(live) - _list_numbers(after) - {None, "", "None", 0}
    return bool(live) and was != now and (was == "LoadBalancer" or bool(lost))


def _list_entries(obj: JSONObject) -> list[JSONObject]:
    return [e for e in get_at(obj, ("metadata", "managedFields"), None) or () if not e.get("subresource")]


def _is_ours(entry: JSONObject, planned: Planned) -> bool:
    manager, operation = entry.get("manager"), entry.get("operation")
    if planned.mode is ApplyMode.CLIENT:
        return manager in (planned.options.field_manager, CLIENT_SIDE_MANAGER)
    takes = planned.options.takes_client_side or planned.options.field_manager == "kubectl"
    is_taken = takes and manager == CLIENT_SIDE_MANAGER and operation == "Update"
    return is_taken or (manager == planned.options.field_manager and operation == "Apply")


def _is_kubectls(entry: JSONObject) -> bool:
    """Return whether kubectl wrote an entry by either way of applying."""
    return entry.get("manager") in ("kubectl", CLIENT_SIDE_MANAGER)


def _owns(entry: JSONObject, path: FieldPath) -> bool:
    """Return whether an entry owns the value at a path itself."""
    node: JSONValue = entry.get("fieldsV1") or {}
    for element in path:
        node = node.get(element, NOTHING) if isinstance(node, Mapping) else NOTHING
    return isinstance(node, Mapping) and (not node or "." in node)


def _list_others(planned: Planned, obj: JSONObject, path: FieldPath) -> list[JSONObject]:
    """Return the entries of other managers that own a path of an object."""
    return [entry for entry in _list_entries(obj) if not _is_ours(entry, planned) and _owns(entry, path)]


def _list_owned(planned: Planned, obj: JSONObject) -> set[FieldPath]:
    """Return the values that this manager owns: the ends of its fields."""
    tries = (entry.get("fieldsV1") or {} for entry in _list_entries(obj) if _is_ours(entry, planned))
    return {path for trie in tries for path in _list_ends(trie)}


def _list_ends(trie: JSONObject, path: FieldPath = ()) -> Iterator[FieldPath]:
    for element, below in trie.items():
        if element != "." and not below:
            yield (*path, element)
        elif element != ".":
            yield from _list_ends(below, (*path, element))


def leaves_to_others(planned: Planned) -> bool:
    """Return whether a field stays that the manifest drops or sets to null, because another manager owns it.

    - A field is dropped if this manager gives it up. A null is in vain also where nothing else changes, unless the
      server stores a null there.
    """
    live, after, manifest = _versions(planned)
    if planned.mode is ApplyMode.CLIENT or not live:
        return False
    if planned.change.operation in (Operation.CREATE, Operation.UPDATE, Operation.UNCHANGED):
        root = planned.kind.root if planned.kind else None
        nulls = [path for path, value in list_leaves(root, manifest).items() if value is None and path]
        if any(holds_of_others(planned, after, path) and covering.find(after, path) is not None for path in nulls):
            return True
    if not planned.change.has_effect:
        return False
    given_up = _list_owned(planned, live) - _list_owned(planned, after) - {LAST_APPLIED_PATH}
    has_left = not any(_is_ours(entry, planned) for entry in _list_entries(after))
    return not has_left and any(
        covering.find(after, path) is not NOTHING and _list_others(planned, after, path) for path in given_up
    )


def holds_of_others(planned: Planned, obj: JSONObject, path: FieldPath) -> bool:
    """Return whether an object has a value at a path of which another manager owns something."""
    tries = (entry.get("fieldsV1") or {} for entry in _list_entries(obj) if not _is_ours(entry, planned))
    owned = any(end[: len(path)] == path for trie in tries for end in _list_ends(trie))
    return owned and covering.find(obj, path) is not NOTHING


def overwrites_bundle(planned: Planned) -> bool:
    """Return whether a client-side apply writes another certificate over the one that another manager wrote."""
    live, after, manifest = _versions(planned)
    if planned.mode is ApplyMode.SERVER or not live or not planned.change.has_effect:
        return False
    root = planned.kind.root if planned.kind else None
    ends = (path for path in list_leaves(root, live) if path and path[-1] == "f:caBundle")
    return any(
        covering.find(manifest, path) is not NOTHING
        and covering.differs(covering.find(live, path), covering.find(after, path))
        and bool(_list_others(planned, live, path))
        for path in ends
    )


def removes_in_vain(planned: Planned) -> bool:
    """Return whether something that was applied is gone from the manifest, and stays under another name.

    - It stays also where nothing is written, because nothing else changes.
    """
    live, after, manifest = _versions(planned)
    if not live:
        return False
    kind, group = planned.change.ref.gvk.kind, planned.change.ref.gvk.group
    if (group, kind) == ("", "Secret"):
        written = {**(manifest.get("stringData") or {}), **(manifest.get("data") or {})}
        names = [name for name in after.get("data") or {} if name not in written]
        return any(_was_applied(planned, ("stringData", name)) for name in names)
    if (group, kind) == ("", "Service"):
        addresses = [get_at(obj, ("spec", "clusterIP"), None) for obj in (live, after, manifest)]
        is_kept = bool(addresses[0]) and addresses[0] == addresses[1] and not addresses[2]
        return is_kept and _was_applied(planned, ("spec", "clusterIP"))
    if (group, kind) == ("autoscaling", "HorizontalPodAutoscaler"):
        return manifest.get("apiVersion") == "autoscaling/v1" and any(
            get_at(after, ("metadata", "annotations", mark), None) is not None
            and get_at(manifest, ("metadata", "annotations", mark), None) is None
            and _was_applied(planned, ("spec", part), any_mode=True)
            for part, mark in _CARRIED.items()
        )
    return any(_keeps_account(planned, above) for above in _POD_SPECS)


def _keeps_account(planned: Planned, above: tuple[str, ...]) -> bool:
    """Return whether a dropped service account stays, because its alias fills it again."""
    _live, after, manifest = _versions(planned)
    named, alias = (*above, "serviceAccountName"), (*above, "serviceAccount")
    is_kept = bool(get_at(after, named, None)) and bool(get_at(after, alias, None))
    is_written = any(get_at(manifest, path, None) is not None for path in (named, alias))
    return is_kept and not is_written and _was_applied(planned, named) and not _was_applied(planned, alias)


def _was_applied(planned: Planned, path: tuple[str, ...], *, any_mode: bool = False) -> bool:
    """Return whether this manager set a field before."""
    versions, is_client = planned.change.versions, planned.mode is ApplyMode.CLIENT
    if (is_client or any_mode) and get_at(versions.last_applied, path, None) is not None:
        return True
    entries = _list_entries(versions.live or {})
    if is_client and not any_mode:
        # No live object has stringData, so last-applied made from one does not name what an Apply set there.
        entries = [e for e in entries if e.get("operation") == "Apply" and path[0] == "stringData"]
    known = (e for e in entries if _is_ours(e, planned) or ((any_mode or is_client) and _is_kubectls(e)))
    owned = (e.get("fieldsV1") or {} for e in known)
    return any(covering.find(trie, tuple(f"f:{element}" for element in fields(*path))) is not NOTHING for trie in owned)


def reorders(planned: Planned) -> bool:
    """Return whether a list of the manifest, outside other lists, gets the same entries in another order."""
    live, after, manifest = _versions(planned)
    return planned.change.has_effect and any(
        len(pair[0]) == len(pair[1]) and pair[0] != pair[1] and len({*map(_sort, pair)}) == 1
        for pair in _list_pairs(manifest, live, after)
    )


def _sort(entries: list[JSONValue]) -> str:
    return "\n".join(sorted(map(canonical_json, entries)))


def _list_pairs(
    manifest: JSONValue, live: JSONValue, after: JSONValue
) -> Iterator[tuple[list[JSONValue], list[JSONValue]]]:
    """Yield each list of the manifest as live and as it becomes."""
    if isinstance(manifest, list) and isinstance(live, list) and isinstance(after, list):
        yield live, after
    elif isinstance(manifest, Mapping) and isinstance(live, Mapping) and isinstance(after, Mapping):
        for name, value in manifest.items():
            yield from _list_pairs(value, live.get(name), after.get(name))


def repeats_entries(planned: Planned) -> bool:
    """Return whether a list of the manifest has two entries of one key: the server says so, or the merge pairs them."""
    _live, _after, manifest = _versions(planned)
    if planned.mode is ApplyMode.CLIENT:
        root = planned.kind.root if planned.kind is not None and planned.kind.is_strategic else None
        return _has_doubles(root, manifest)
    answer = _probe(planned, manifest)
    return answer is not None and "duplicate entries for key" in answer.message


def _has_doubles(node: Node | None, value: JSONValue) -> bool:
    if node is None:
        return False
    if isinstance(value, Mapping):
        return any(_has_doubles(node.child(name), below) for name, below in value.items())
    if not isinstance(value, list):
        return False
    key = node.patch_merge_key if "merge" in node.patch_strategy else ""
    names = Counter(canonical_json(e[key]) for e in value if isinstance(e, Mapping) and key in e) if key else Counter()
    return max(names.values(), default=0) > 1 or any(_has_doubles(node.items, entry) for entry in value)


def _probe(planned: Planned, manifest: JSONObject) -> Answer | None:
    """Return what a server answers to a server-side apply of a new object with this content; None without a kind."""
    resource = planned.given.catalog.find_resource(planned.change.ref.gvk)
    if resource is None:
        return None
    body = {**manifest, "metadata": {**(manifest.get("metadata") or {}), "name": "probe"}}
    path = resource.path(planned.change.ref.namespace, "probe")
    query = {"dryRun": "All", "fieldManager": "probe", "force": "true"}
    return HeldCluster(planned.given).handle(Request("PATCH", path, query, APPLY_PATCH, body))


def holds_invalid_entry(planned: Planned) -> bool:
    """Return whether a server cannot decode an entry of a ConfigMap or Secret, asked for each entry alone.

    - What YAML reads otherwise than it is written is another risk.
    """
    _live, _after, manifest = _versions(planned)
    kind, document = planned.change.ref.gvk.kind, planned.document
    resource = planned.given.catalog.find_resource(planned.change.ref.gvk)
    if planned.change.ref.gvk.group or kind not in _TEXTS or resource is None:
        return False
    retyped = {note.path for note in document.retyped} if document is not None else set()
    head = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "probe"}}
    for part in _TEXTS[kind]:
        entries = manifest.get(part)
        for name, value in entries.items() if isinstance(entries, Mapping) else ():
            body = {**head, part: {name: value}}
            path = resource.path(planned.change.ref.namespace)
            answer = planned.cluster.handle(Request("POST", path, {"dryRun": "All"}, JSON, body))
            if answer.status == 400 and (part, name) not in retyped:
                return True
    return False


def replaces_list_of_others(planned: Planned) -> bool:
    """Return whether a list goes as a whole with an entry that another manager wrote and this one never applied."""
    live, _after, manifest = _versions(planned)
    if not live or not planned.change.has_effect:
        return False
    return any(_is_lost(planned, path, node) for path, node in _list_lists(planned, manifest))


def _list_lists(planned: Planned, manifest: JSONObject) -> Iterator[tuple[tuple[str, ...], Node | None]]:
    """Yield the path and schema of each list of a manifest outside other lists."""
    todo: list[tuple[tuple[str, ...], JSONValue, Node | None]] = [
        ((), manifest, planned.kind.root if planned.kind is not None else None)
    ]
    while todo:
        path, value, node = todo.pop()
        if isinstance(value, list):
            yield path, node
        elif isinstance(value, Mapping):
            todo += [((*path, n), below, node.child(n) if node is not None else None) for n, below in value.items()]


def _is_lost(planned: Planned, path: tuple[str, ...], node: Node | None) -> bool:
    live, after, _manifest = _versions(planned)
    before, now = (get_at(obj, path, None) for obj in (live, after))
    if not isinstance(before, list) or not isinstance(now, list) or before == now:
        return False
    strategy = node.patch_strategy if node is not None else ()
    keys = node.list_type if node is not None else None
    is_merged = "merge" in strategy if planned.mode is ApplyMode.CLIENT else str(keys) in ("map", "set")
    applied = get_at(planned.change.versions.last_applied or _read_record(live), path, None)
    known = [*now, *(applied if isinstance(applied, list) else ())]
    ours = {planned.options.field_manager, *_RECORDS_OF_KUBECTL}
    others = [e for e in _list_entries(live) if e.get("manager") not in ours]
    lost = [entry for entry in before if not any(_has(entry, k) for k in known)]
    return not is_merged and any(_wrote(e, fields(*path), entry) for e in others for entry in lost)


def _read_record(live: JSONObject) -> JSONValue:
    """Return what kubectl once applied client-side; a server-side apply of the same author drops it knowingly."""
    text = get_at(live, ("metadata", "annotations", LAST_APPLIED), None)
    return json.loads(text) if text else None


def _wrote(entry: JSONObject, path: FieldPath, value: JSONValue) -> bool:
    """Return whether a manager owns an entry of a list, or the whole list."""
    owned = covering.find(entry.get("fieldsV1") or {}, tuple(f"f:{element}" for element in path))
    if not isinstance(owned, Mapping):
        return False
    names = [(element[0], json.loads(element[2:])) for element in owned if element[0] in "kv"]
    return not names or any(_has(value, part) if how == "k" else value == part for how, part in names)


def _has(entry: JSONValue, part: JSONValue) -> bool:
    """Return whether an entry holds everything of a part: it may have more fields."""
    if isinstance(part, Mapping):
        return isinstance(entry, Mapping) and all(n in entry and _has(entry[n], v) for n, v in part.items())
    if isinstance(part, list):
        return isinstance(entry, list) and len(part) == len(entry) and all(map(_has, entry, part))
    return type(part) is type(entry) and bool(part == entry)


def gains_owner(before: JSONObject | None, after: JSONObject | None) -> bool:
    """Return whether a live object has an owner after the write that it did not have before."""
    named = ("apiVersion", "kind", "name", "uid")
    owners = [
        {tuple(one.get(name) for name in named) for one in get_at(obj, ("metadata", "ownerReferences")) or ()}
        for obj in (before, after)
    ]
    return before is not None and not owners[1] <= owners[0]
