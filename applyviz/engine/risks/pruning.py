"""Prune removes many objects, a kind on which others depend, or uses other options than the last time.

Rule: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/#how-to-delete-objects: objects
outside the manifests are deleted; deleting a Namespace, a CustomResourceDefinition or a volume deletes its content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from applyviz.engine.objects.kinds import find_stored
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.risks.model import Facts, Risk, RiskKind, RiskLevel, Templates

WEBHOOKS = frozenset(("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"))
CRITICAL_KINDS = WEBHOOKS | frozenset(
    ("Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim", "StatefulSet", "Node")
)
LARGE_SHARE = 0.3
SMALL_SET = 3
LARGE_NUMBER = 20


def _describe_pruned(f: Facts) -> Templates:
    if f.get("kind") in WEBHOOKS:
        return ("Prune would delete {what}: the API server then accepts requests that it refused or changed.",)
    if "what" in f:
        return ("Prune would delete {what} and everything in it or dependent on it.",)
    return ("Prune would delete {pruned} of the {members} live objects of this set.",)


def _describe_changed_choice(f: Facts) -> Templates:
    if "outside" in f:
        return ("In run {run}, this set also had files outside folder {folder}: their objects count as removed.",)
    if "folder" in f:
        return (
            "In run {run}, the files of this set were in folder {folder}: objects from other folders count as removed.",
        )
    return ("{choice} was {before} in run {run} and is now {now}, so different objects are pruned.",)


PRUNE_SHARE = RiskKind(
    "prune-share", "Prunes much of the set", _describe_pruned, level=RiskLevel.HIGH, policy_order=140
)
PRUNE_CHANGED = RiskKind(
    "prune-changed",
    "Prune options differ from the last run",
    _describe_changed_choice,
    level=RiskLevel.HIGH,
    policy_order=150,
)
CRITICAL_KIND = RiskKind(
    "critical-kind",
    "Critical kind deleted",
    lambda f: (
        "{kind} {name} is deleted"
        + (" and re-created" if f["operation"] == "replace" else "")
        + ", and policy {policy} counts "
        + ("it, or what goes with it, as critical." if f["reach"] else "its kind as critical."),
    ),
    level=RiskLevel.HIGH,
    policy_order=210,
)


def find_prune_risks(pruned: Sequence[ObjectRef], members: int) -> tuple[Risk, ...]:
    """Return the risks of deleting `pruned` from a set that now has `members` live objects."""
    found = [
        PRUNE_SHARE.at((), {"what": str(ref), "kind": ref.gvk.kind})
        for ref in pruned
        if find_stored(*ref.key[:2])[1] in CRITICAL_KINDS
    ]
    is_large = bool(members) and len(pruned) >= SMALL_SET and len(pruned) / members >= LARGE_SHARE
    if is_large or len(pruned) >= LARGE_NUMBER:
        facts = {"pruned": str(len(pruned)), "members": str(members)}
        found.append(PRUNE_SHARE.at((), facts))
    return tuple(found)


def _find_folder(files: Sequence[str], earlier: Sequence[str]) -> str:
    """Return the folder of the earlier files that held at least half of the files, while others were outside; or "".

    - Files that are new since do not count against it, and a file that the earlier run had by its own name does.
    """
    known, now = set(earlier), set(files)
    found = Counter(
        name[: -len(rest)] for name in earlier for rest in _list_tails(name) if rest in now and rest not in known
    )
    folder, count = max(found.items(), key=lambda one: one[1], default=("", 0))
    is_inside = count * 2 >= len(now) and any(not name.startswith(folder) for name in earlier)
    return folder if is_inside else ""


def _list_tails(name: str) -> Iterator[str]:
    """Yield a path without its first folder, without its first two, and so on."""
    while name := name.partition("/")[2]:
        yield name


def find_changed_choices(run: str, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Risk]:
    """Yield a risk for each choice that decides what is pruned and differs from the last run of the same set.

    - `before`, `now`: the choices by name, as text.
    """
    for what, value in now.items():
        if before.get(what, value) != value:
            yield PRUNE_CHANGED.at((), {"choice": what, "before": before[what], "now": value, "run": run})


def _find_common(files: Sequence[str], earlier: Sequence[str]) -> str:
    """Return the folder that has all files, of which the earlier run had half and files outside it; or ""."""
    folders = [name.split("/")[:-1] for name in files]
    shared = takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))
    folder = "".join(f"{parts[0]}/" for parts in shared)
    is_known = bool(files) and len(set(files) & set(earlier)) * 2 >= len(files)
    return folder if is_known and any(not name.startswith(folder) for name in earlier) else ""


def find_narrowed(run: str, *, files_before: Sequence[str], files: Sequence[str]) -> Iterator[Risk]:
    """Yield the risk that the files are from one folder of what the last run of the same set had.

    - Files of a repository keep their names then; those of a chosen folder lose the names of the folders above it.
    """
    folder = _find_folder(files, files_before)
    common = "" if folder else _find_common(files, files_before)
    if folder or common:
        facts = {"outside": "yes"} if common else {}
        yield PRUNE_CHANGED.at((), {"folder": (folder or common).rstrip("/"), "run": run, **facts})
