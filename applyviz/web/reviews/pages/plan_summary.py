"""The sentence and the impact of a plan, from its stored figures.

`engine.planning.model.summary` counts everything; here the counts become words in the language of the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applyviz.engine.objects.paths import render_path
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.model.summary import PlanSummary, Restart
from applyviz.engine.requests.options import ApplyMode, ApplyOptions, Propagation, PruneMode, SetAction
from applyviz.records.models import Plan
from applyviz.workflow.plans.plan_details import read_impact

NAMED = 3


def _count_operation(operation: Operation, count: int) -> str:
    texts = {
        Operation.CREATE: _("%(n)d to create"),
        Operation.UPDATE: _("%(n)d to update"),
        Operation.REPLACE: _("%(n)d to replace"),
        Operation.PRUNE: _("%(n)d to delete"),
        Operation.DELETE: _("%(n)d to delete"),
        Operation.NOT_FOUND: _("%(n)d not found"),
        Operation.BLOCKED: _("%(n)d blocked by conflicts"),
        Operation.WITHHELD: _("%(n)d hidden from you"),
        Operation.ERROR: _("%(n)d could not be planned"),
        Operation.LEFT_OUT: _("%(n)d left out"),
        Operation.UNCHANGED: _("%(n)d unchanged"),
    }
    return texts[operation] % {"n": count}


_ORDER = (
    Operation.CREATE,
    Operation.UPDATE,
    Operation.REPLACE,
    Operation.PRUNE,
    Operation.DELETE,
    Operation.BLOCKED,
    Operation.ERROR,
    Operation.LEFT_OUT,
    Operation.WITHHELD,
    Operation.NOT_FOUND,
)


def present_sentence(plan: Plan) -> str:
    """Return the counts of a plan, numbers first; empty while nothing is known."""
    counts: Mapping[str, int] = plan.counts
    total, unchanged = sum(counts.values()), counts.get(Operation.UNCHANGED, 0)
    parts = [_count_operation(o, counts[o]) for o in _ORDER if counts.get(o)]
    if not total:
        return ""
    if set(counts) == {Operation.NOT_FOUND.value}:
        return _("Nothing to delete · %(missing)s") % {"missing": _count_operation(Operation.NOT_FOUND, total)}
    if not parts:
        return _("No changes · %(unchanged)s") % {"unchanged": _count_operation(Operation.UNCHANGED, unchanged)}
    sentence = ", ".join(parts)
    if not unchanged:
        return sentence
    objects = ngettext("%(n)d object", "%(n)d objects", total) % {"n": total}
    return f"{sentence} · {_count_operation(Operation.UNCHANGED, unchanged)} ({objects})"


def _list_some(found: Iterable[str]) -> str:
    names = list(dict.fromkeys(found))
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")


def _list_objects(refs: Iterable[ObjectRef]) -> str:
    return _list_some(f"{ref.gvk.kind}/{ref.name}" for ref in refs)


def _split(restarts: Iterable[Restart]) -> tuple[list[Restart], list[Restart]]:
    """Return the workloads whose number of pods is known, and the others: a sum would count those as 0."""
    found = list(restarts)
    return [one for one in found if one.pods], [one for one in found if not one.pods]


def _describe_new(restarts: Iterable[Restart]) -> Iterator[str]:
    """Yield the number of pods that stop with replaced workloads; known numbers are added up."""
    counted, others = _split(restarts)
    if counted:
        n = sum(one.pods for one in counted)
        yield _describe_stop(ngettext("%(n)d pod stops", "%(n)d pods stop", n) % {"n": n}, counted)
    if others:
        yield _describe_stop(_("All pods stop"), others)


def _describe_stop(pods: str, new: Sequence[Restart]) -> str:
    text = ngettext(
        "%(pods)s with the replaced workload, which starts new ones: %(where)s",
        "%(pods)s with the replaced workloads, which start new ones: %(where)s",
        len(new),
    )
    return text % {"pods": pods, "where": _list_objects(one.ref for one in new)}


def _name_by_kind(restarts: Iterable[Restart]) -> dict[str, str]:
    named: dict[str, list[str]] = {}
    for one in restarts:
        named.setdefault(one.ref.gvk.kind, []).append(one.ref.name)
    return {kind: f"{len(names)} {kind}s" if len(names) > 1 else f"{kind}/{names[0]}" for kind, names in named.items()}


def _describe_restarts(restarts: Iterable[Restart]) -> Iterator[str]:
    counted, others = _split(restarts)
    if counted:
        pods: Counter[str] = Counter()
        for one in counted:
            pods[one.ref.gvk.kind] += one.pods
        what, total = _name_by_kind(counted), pods.total()
        text = ngettext("%(n)d pod restarts: %(where)s", "%(n)d pods restart: %(where)s", total)
        found = [_("%(n)d in %(what)s") % {"n": count, "what": what[kind]} for kind, count in pods.most_common()]
        yield text % {"n": total, "where": ", ".join(found if len(found) > 1 else what.values())}
    for where in _name_by_kind(others).values():
        yield _("All pods of %(what)s restart") % {"what": where}


def _describe_pending(pending: Iterable[Restart]) -> Iterator[str]:
    """Yield the restarts that blocked objects would cause once their conflicts are resolved."""
    counted, others = _split(pending)
    if counted:
        pods = sum(one.pods for one in counted)
        text = ngettext(
            "+%(pods)d pod (%(names)s) once its conflict is resolved",
            "+%(pods)d pods (%(names)s) once their conflicts are resolved",
            pods,
        )
        yield text % {"pods": pods, "names": _list_some(one.ref.name for one in counted)}
    if others:
        names = _list_some(one.ref.name for one in others)
        yield _("more pods restart once conflicts are resolved: %(names)s") % {"names": names}


def _describe_moves(summary: PlanSummary, mode: str) -> Iterator[str]:
    if count := summary.ownership_moves:
        text = ngettext(
            "Field ownership of %(n)d object migrates from %(managers)s first, which changes no values",
            "Field ownership of %(n)d objects migrates from %(managers)s first, which changes no values",
            count,
        )
        if mode == ApplyMode.CLIENT:
            text = ngettext(
                "Field ownership of %(n)d object moves back from server-side apply by %(managers)s",
                "Field ownership of %(n)d objects moves back from server-side apply by %(managers)s",
                count,
            )
        yield text % {"n": count, "managers": ", ".join(summary.moves_from)}
    if started := summary.ownership_starts:
        text = ngettext(
            "%(n)d object has no field owners: its last-applied fields get one first, which changes no values",
            "%(n)d objects have no field owners: their last-applied fields get one first, which changes no values",
            started,
        )
        yield text % {"n": started}
    if removed := summary.records_removed:
        text = ngettext(
            "The last-applied annotation of %(n)d object is removed: a later client-side apply keeps what it drops",
            "The last-applied annotation of %(n)d objects is removed: a later client-side apply keeps what it drops",
            removed,
        )
        yield text % {"n": removed}


def _describe_record(plan: Plan) -> Iterator[str]:
    """Yield what a review does that writes only what the next apply starts from."""
    action, count = options_from_json(plan.options).action, plan.counts.get(Operation.UPDATE, 0)
    if count and action is SetAction.SET_LAST_APPLIED:
        text = ngettext(
            "The last-applied annotation of %(n)d object is set, which changes no other values",
            "The last-applied annotations of %(n)d objects are set, which changes no other values",
            count,
        )
        yield text % {"n": count}
    if count and action is SetAction.CLEAR_OWNERSHIP:
        text = ngettext(
            "The field owners of %(n)d object are cleared, which changes no values",
            "The field owners of %(n)d objects are cleared, which changes no values",
            count,
        )
        yield text % {"n": count}


def _describe_unmatched(summary: PlanSummary) -> Iterator[str]:
    """Yield the names that were chosen in vain: no object of the manifests has them."""
    if names := summary.unmatched:
        yield _("Chosen for replacement, but not in these manifests: %(names)s") % {"names": _shorten(names)}
    if names := summary.unmatched_left_out:
        yield _("To be left out, but not in these manifests: %(names)s") % {"names": _shorten(names)}


def present_impact(plan: Plan) -> tuple[str, ...]:
    """Return the impact on running workloads, line by line: what stops or goes first, field ownership last."""
    summary = read_impact(plan)
    lines: list[str] = []
    if summary.stopped:
        lines.append(_("Downtime: %(names)s") % {"names": _list_objects(summary.stopped)})
    if deleted := summary.deleted:
        text = ngettext("%(n)d workload is deleted: %(names)s", "%(n)d workloads are deleted: %(names)s", len(deleted))
        lines.append(text % {"n": len(deleted), "names": _list_objects(deleted)})
    if summary.scaled_down:
        lines.append(_("Scaled to 0: %(names)s") % {"names": _list_objects(summary.scaled_down)})
    lines += _describe_new(one for one in summary.restarts if one.is_new)
    lines += _describe_restarts(one for one in summary.restarts if not one.is_new)
    if images := summary.images:
        lines.append(ngettext("%(n)d image changes", "%(n)d images change", len(images)) % {"n": len(images)})
    lines += _describe_pending(summary.pending)
    lines += describe_chosen_moves(options_from_json(plan.options))
    lines += _describe_unmatched(summary)
    lines += _describe_record(plan)
    return (*lines, *_describe_moves(summary, plan.options.get("mode", "")))


def describe_chosen_moves(options: ApplyOptions) -> Iterator[str]:
    """Yield in words which fields a plan gives to other managers or takes from them, by choice."""
    given: dict[str, list[str]] = {}
    for one in options.handovers:
        given.setdefault(one.manager, []).append(f"{one.key[1]}/{one.key[3]} {render_path(one.path)}")
    for manager, names in given.items():
        if options.mode is ApplyMode.SERVER:
            yield _("Handed over to %(manager)s: %(names)s") % {"manager": manager, "names": _shorten(names)}
        else:
            yield _("No longer applied: %(names)s") % {"names": _shorten(names)}
    parted: dict[str, list[str]] = {}
    for moved in options.taken_managers:
        parted.setdefault(moved.manager, []).append(f"{moved.key[1]}/{moved.key[3]}")
    for name, objects in parted.items():
        yield _("Fields taken from %(manager)s: %(names)s") % {"manager": name, "names": _shorten(objects)}
    taken = [f"{one.key[1]}/{one.key[3]} {render_path(one.path)}" for one in options.taken_fields]
    if taken:
        yield _("Taken from other managers: %(names)s") % {"names": _shorten(list(dict.fromkeys(taken)))}


def _shorten(names: Sequence[str]) -> str:
    more = [_("%(n)d more") % {"n": len(names) - NAMED}] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])


def describe_deletion(options: ApplyOptions) -> str:
    """Return in words what a plan of deletions does with dependents, and how long it waits; "" for an apply."""
    if not options.is_deleting:
        return ""
    words = {
        Propagation.BACKGROUND: _("dependents are deleted after it (background)"),
        Propagation.FOREGROUND: _("dependents are deleted before it (foreground)"),
        Propagation.ORPHAN: _("dependents stay (orphan)"),
    }
    wait = ngettext("waits up to %(n)d second", "waits up to %(n)d seconds", options.deletion_seconds)
    return f"{words[options.propagation]}; {wait % {'n': options.deletion_seconds}}"


def describe_prune(options: ApplyOptions) -> str:
    """Return in words which objects a plan deletes because they left the set; "" when it deletes none of them."""
    chosen = options.prune
    if options.left_out and chosen.mode in (PruneMode.APPLYSET, PruneMode.ALLOWLIST):
        return _("nothing this time, because objects are left out")
    if chosen.mode is PruneMode.APPLYSET:
        return _except_kinds(_("former members of ApplySet %(parent)s") % {"parent": chosen.applyset}, options)
    if chosen.mode is not PruneMode.ALLOWLIST:
        return ""
    kinds = ", ".join(entry.rpartition("/")[2] for entry in chosen.allowlist) or _("kubectl's default kinds")
    text = _("%(kinds)s that were applied before and match %(selector)s") % {
        "kinds": kinds,
        "selector": options.selector or "--all",
    }
    return _except_kinds(text, options)


def _except_kinds(text: str, options: ApplyOptions) -> str:
    """Return the text with the kinds that are never pruned."""
    kinds = ", ".join(options.prune.excepted)
    return _("%(what)s, never %(kinds)s") % {"what": text, "kinds": kinds} if kinds else text


def describe_left_out(options: ApplyOptions) -> str:
    """Return in words which objects a plan leaves out, and why; "" when it leaves out none."""
    if not options.left_out:
        return ""
    names = ["/".join(filter(None, name.split("/")[1:])) for name in options.left_out]
    more = [_("%(n)d more") % {"n": len(names) - NAMED}] if len(names) > NAMED else []
    return f"{', '.join([*names[:NAMED], *more])}: {options.left_out_reason}"
