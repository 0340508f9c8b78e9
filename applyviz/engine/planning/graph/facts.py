"""Summarize the change of a node in a few facts: counts, versions and names, no other values.

Left out on purpose: sentences, which the page has.
"""

from __future__ import annotations

from applyviz.engine.objects.paths import element_value
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.graph.pod_risks import list_changed_keys
from applyviz.engine.planning.model.overview import list_moves
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.summary import list_image_changes, read_images
from applyviz.engine.references.pods import find_pod_template
from applyviz.engine.references.reading import list_entries, text_at
from applyviz.engine.risks.restarts import PODS_RESTART

_LIMITS = {
    "HorizontalPodAutoscaler": ("minReplicas", "maxReplicas"),
    "PodDisruptionBudget": ("minAvailable", "maxUnavailable"),
}
_LONGEST = 40
_CONTAINERS = ("containers", "initContainers")
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


def _shorten(image: str) -> str:
    """Return the tag of an image, or the end of its name."""
    return image.rpartition("/")[2].partition(":")[2].partition("@")[0] or image.rpartition("/")[2]


def _list_limits(kind: str, before: JSONObject | None, after: JSONObject | None) -> dict[str, str]:
    """Return the first limit that changes, else the first that is set."""
    found: dict[str, str] = {}
    for name in _LIMITS.get(kind, ()):
        old, new = get_at(before, ("spec", name)), get_at(after, ("spec", name))
        if new is not None and (not found or old != new):
            found = {"limit": name, "limit_after": str(new)}
            if old is not None and old != new:
                found["limit_before"] = str(old)
                break
    return found


def _rank_containers(change: PlannedObject) -> list[str]:
    """Return the containers of an object as it will be, the main one first and init containers last.

    - The main one is the annotated default of kubectl, else the one named like the object, else the first.
    """
    template = find_pod_template(change.versions.after or {})
    if template is None:
        return []
    names = [text_at(one, "name") for group in _CONTAINERS for _, one in list_entries(template.spec.get(group))]
    annotated = text_at(change.versions.after, *template.path[:-1], "metadata", "annotations", _DEFAULT_CONTAINER)
    main = next((name for name in (annotated, change.ref.name) if name in names), "")
    return [main, *(name for name in names if name != main)] if main else names


def _list_images(change: PlannedObject) -> dict[str, str]:
    ranked = _rank_containers(change)
    moved = {one.container: one for one in list_image_changes(change)}
    name = next((name for name in ranked if name in moved), "")
    if name:
        # The version of another container than the main one is named for that container.
        side = {"image_of": name} if name != ranked[0] else {}
        return {"image_before": _shorten(moved[name].before), "image_after": _shorten(moved[name].after), **side}
    images = read_images(change.versions.after) if change.operation is Operation.CREATE else {}
    first = next((images[name] for name in ranked if name in images), "")
    return {"image_after": _shorten(first)} if first else {}


def _list_restart(change: PlannedObject) -> dict[str, str]:
    for risk in change.risks:
        if risk.kind is PODS_RESTART:
            is_down = "stops" in risk.facts
            return {"restarts": risk.facts.get("pods", ""), **({"downtime": "yes"} if is_down else {})}
    return {}


def list_facts(change: PlannedObject) -> dict[str, str]:
    """Return the facts of a change as text.

    - Of a Secret: the number of changed entries, which is withheld from people who may not read it.
    """
    kind, versions = change.ref.gvk.kind, change.versions
    facts = {**_list_images(change), **_list_restart(change), **_list_limits(kind, versions.live, versions.after)}
    if change.conflicts:
        facts["conflicts"] = str(len(change.conflicts))
    if change.ref.key[:2] in (("", "ConfigMap"), ("", "Secret")):
        facts["keys"] = str(len(list_changed_keys(change)))
    pods = get_at(versions.after, ("spec", "replicas"))
    if isinstance(pods, int):
        facts["pods"] = str(pods)
    moves = [move for _, move in list_moves(change)] if change.operation is Operation.UPDATE else []
    if moves:
        facts["fields"] = str(len(moves))
        named = [e for e in moves[0].path if e[0] == "f"]
        leaf = str(element_value(named[-1])) if named else ""
        facts["field"] = leaf[:_LONGEST] + (" label" if "f:labels" in moves[0].path else "")
    return {name: text[:_LONGEST] for name, text in facts.items() if text}
