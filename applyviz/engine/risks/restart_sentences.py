"""Which pods a change restarts and which keep the old template, as risks say it."""

from __future__ import annotations

from collections.abc import Mapping

_RELEASED = {
    "": "because the pod template changes",
    "paused": "because the rollout is resumed",
    "on-delete": "because the update strategy is no longer OnDelete",
    "partition": "because the partition is lowered",
}
_WAITS = {
    "paused": "The pod template changes, but the Deployment is paused: {who} the old template until it is resumed.",
    "on-delete": (
        "The pod template changes, but the update strategy is OnDelete: {who} the old template until deleted."
    ),
    "partition": "The pod template changes, but the partition is {partition}: {who} the old template.",
}


def _count_pods(pods: str, one: str, many: str) -> str:
    if not pods:
        return f"All pods {many}"
    return f"1 pod {one}" if pods == "1" else f"{pods} pods {many}"


def restart(f: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentences about pods that restart: how many, why, in which order, and which do not."""
    restarts = f"{_count_pods(f.get('pods', ''), 'restarts', 'restart')} {_RELEASED[f.get('released', '')]}: "
    if f.get("strategy") == "Recreate":
        return (restarts + "all pods stop before new ones start (strategy Recreate).",)
    if f.get("stops"):
        return (restarts + "no pod runs until the first new one is ready.",)
    if f.get("nodes"):
        return (restarts + "rolling update; on every node the old pod stops before the new one starts.",)
    kept = _count_pods(f["kept"], "keeps", "keep") + " the old template (partition)." if "kept" in f else ""
    rolls = "rolling update, on every node." if f.get("each") == "node" else "rolling update."
    return (restarts + rolls, *((kept,) if kept else ()))


def wait(f: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sentence about pods that keep the old template, and until when."""
    who = _count_pods(f["pods"], "keeps", "keep")
    return (_WAITS[f["awaits"]].replace("{who}", who[0].lower() + who[1:]),)
