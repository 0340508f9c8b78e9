"""The sentence over a plan and its impact, from the figures that the plan stores.

Everything is counted by `engine.planning.summary`; here it only becomes words, in the language of the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.planning.plan import Operation
from applyviz.engine.requests.options import ApplyMode
from applyviz.records.models import Plan

NAMED = 3


def _count_operation(operation: Operation, count: int) -> str:
    texts = {
        Operation.UPDATE: ngettext("%(n)d changes", "%(n)d change", count),
        Operation.CREATE: ngettext("%(n)d is created", "%(n)d are created", count),
        Operation.RECREATE: ngettext("%(n)d is deleted and created anew", "%(n)d are deleted and created anew", count),
        Operation.PRUNE: ngettext("%(n)d is pruned", "%(n)d are pruned", count),
        Operation.REFUSED: ngettext("%(n)d would be refused", "%(n)d would be refused", count),
        Operation.WITHHELD: ngettext("%(n)d is not shown to you", "%(n)d are not shown to you", count),
        Operation.ERROR: ngettext("%(n)d could not be planned", "%(n)d could not be planned", count),
    }
    return texts[operation] % {"n": count}


_ORDER = (
    Operation.UPDATE,
    Operation.CREATE,
    Operation.RECREATE,
    Operation.PRUNE,
    Operation.REFUSED,
    Operation.ERROR,
    Operation.WITHHELD,
)


def present_sentence(plan: Plan) -> str:
    """What happens to the objects, in one sentence; empty while nothing is known."""
    counts: Mapping[str, int] = plan.counts
    total = sum(counts.values())
    if not total:
        return ""
    unchanged = counts.get(Operation.UNCHANGED, 0)
    parts = [_count_operation(o, counts[o]) for o in _ORDER if counts.get(o)]
    if not parts:
        text = ngettext(
            "Nothing changes: %(n)d object stays as it is.", "Nothing changes: %(n)d objects stay as they are.", total
        )
        return text % {"n": total}
    head = ngettext("Of %(n)d object", "Of %(n)d objects", total) % {"n": total}
    sentence = f"{head}, {', '.join(parts)}"
    if unchanged:
        stays = ngettext("%(n)d stays as it is", "%(n)d stay as they are", unchanged)
        sentence += f"; {stays % {'n': unchanged}}"
    return f"{sentence}."


def _name(ref: Any) -> str:
    return str(ref[2])


def _kind(ref: Any) -> str:
    return str(ref[0][2])


def _list_names(refs: list[Any]) -> str:
    names = list(dict.fromkeys(_name(ref) for ref in refs))
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")


def _list_objects(refs: list[Any]) -> str:
    names = list(dict.fromkeys(f"{_kind(ref)}/{_name(ref)}" for ref in refs))
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")


def _describe_restarts(restarts: list[dict[str, Any]]) -> Iterator[str]:
    pods: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for one in restarts:
        found[_kind(one["ref"])] += 1
        pods[_kind(one["ref"])] += one.get("pods") or 0
    for kind, count in found.most_common():
        what = (
            f"{count} {kind}s"
            if count > 1
            else f"{kind} {next(_name(r['ref']) for r in restarts if _kind(r['ref']) == kind)}"
        )
        if pods[kind]:
            text = ngettext("%(what)s: %(pods)d pod restarts", "%(what)s: %(pods)d pods restart", pods[kind])
            yield text % {"what": what, "pods": pods[kind]}
        else:
            yield _("%(what)s: all pods restart") % {"what": what}


def _describe_pending(pending: list[dict[str, Any]]) -> Iterator[str]:
    """What refused objects would restart once they are decided."""
    if not pending:
        return
    pods = sum(one.get("pods") or 0 for one in pending)
    names = _list_names([one["ref"] for one in pending])
    if pods:
        text = ngettext(
            "once decided, %(pods)d more pod restarts: %(names)s",
            "once decided, %(pods)d more pods restart: %(names)s",
            pods,
        )
        yield text % {"pods": pods, "names": names}
    else:
        yield _("once decided, more pods restart: %(names)s") % {"names": names}


def _describe_moves(summary: Mapping[str, Any], mode: str) -> Iterator[str]:
    count, managers = summary.get("ownership_moves", 0), summary.get("moves_from", [])
    if count:
        text = ngettext(
            "Field ownership of %(n)d object moves first from %(managers)s; no value changes by that",
            "Field ownership of %(n)d objects moves first from %(managers)s; no value changes by that",
            count,
        )
        if mode == ApplyMode.CLIENT:
            text = ngettext(
                "Field ownership of %(n)d object moves back from server-side apply by %(managers)s",
                "Field ownership of %(n)d objects moves back from server-side apply by %(managers)s",
                count,
            )
        yield text % {"n": count, "managers": ", ".join(managers) or _("last-applied")}


def present_impact(plan: Plan) -> tuple[str, ...]:
    """What it does to running things, line by line."""
    summary: Mapping[str, Any] = plan.summary
    lines = [*_describe_moves(summary, plan.options.get("mode", "")), *_describe_restarts(summary.get("restarts", []))]
    stopped, deleted = summary.get("stopped", []), summary.get("deleted", [])
    scaled_down, images = summary.get("scaled_down", []), summary.get("images", [])
    if stopped:
        lines.append(_("Downtime: %(names)s") % {"names": _list_objects(stopped)})
    if deleted:
        text = ngettext("%(n)d workload is deleted: %(names)s", "%(n)d workloads are deleted: %(names)s", len(deleted))
        lines.append(text % {"n": len(deleted), "names": _list_objects(deleted)})
    if scaled_down:
        lines.append(_("Scaled to 0: %(names)s") % {"names": _list_objects(scaled_down)})
    if images:
        lines.append(ngettext("%(n)d image changes", "%(n)d images change", len(images)) % {"n": len(images)})
    lines += _describe_pending(summary.get("pending", []))
    return tuple(lines)
