"""Calculate and render the answer about a set; of visitors' input only in a child process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from msgspec import Struct

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.requests.options import Propagation
from applyviz.engine.risks.deletions import DELETED, DEPENDENTS, FINALIZERS, TERMINATING
from applyviz.engine.risks.sentences import render_risk
from applyviz.guide import playground, whole_sets
from applyviz.guide.given import PlaygroundQueryError
from applyviz.guide.given_sets import SetQuery, SetTask
from applyviz.guide.whole_sets import SetAnswer, SetOutcome, SetRow
from applyviz.web.components.badges import OBJECT_STYLES, Appearance
from applyviz.web.components.notices import Notice
from applyviz.web.components.stay_reasons import explain_stay

_STYLES: dict[SetOutcome, Appearance] = {
    SetOutcome.CREATED: OBJECT_STYLES[Operation.CREATE],
    SetOutcome.UPDATED: OBJECT_STYLES[Operation.UPDATE],
    SetOutcome.UNCHANGED: OBJECT_STYLES[Operation.UNCHANGED],
    SetOutcome.PRUNED: OBJECT_STYLES[Operation.PRUNE],
    SetOutcome.DELETED: OBJECT_STYLES[Operation.DELETE],
    SetOutcome.COLLECTED: Appearance("−", _("deleted with it"), "remove"),  # noqa: RUF001 the minus sign is drawn
    SetOutcome.WAITING: Appearance("…", _("terminating"), "warn"),
    SetOutcome.ORPHANED: Appearance("○", _("orphaned"), "warn"),
    SetOutcome.KEPT: Appearance("·", _("kept"), "keep"),
    SetOutcome.ABSENT: OBJECT_STYLES[Operation.NOT_FOUND],
    SetOutcome.REFUSED: OBJECT_STYLES[Operation.ERROR],
}
# The rows say what becomes of an object and of its dependents; what a run waits for is no matter here.
_SAID = (DELETED, DEPENDENTS, FINALIZERS, TERMINATING)
_PROPAGATED: dict[Propagation, str | Promise] = {
    Propagation.BACKGROUND: _(
        "Background: the object goes at once, then the garbage collector deletes what belongs to it."
    ),
    Propagation.FOREGROUND: _("Foreground: the garbage collector first deletes what belongs to the object."),
    Propagation.ORPHAN: _("Orphan: what belongs to the object stays, without it as its owner."),
}


class SetObjectRow(Struct, frozen=True):
    """One object, what becomes of it, and why."""

    kind: str
    name: str
    namespace: str
    style: Appearance
    why: str
    risks: tuple[str, ...] = ()


class SetShare(Struct, frozen=True):
    """How many objects have the same outcome."""

    style: Appearance
    count: int


def _name(ref: ObjectRef | None) -> str:
    return f"{ref.gvk.kind}/{ref.name}" if ref is not None else ""


def _explain_end(row: SetRow) -> str:
    """Return what a deleted object waits for, or what takes it along."""
    if row.waits_for_dependents:
        return gettext("It stays until its dependents are gone; some of them have finalizers.")
    if row.finalizers:
        return ngettext(
            "It has a deletionTimestamp and stays until %(named)s is removed.",
            "It has a deletionTimestamp and stays until %(named)s are removed.",
            len(row.finalizers),
        ) % {"named": ", ".join(row.finalizers)}
    if row.outcome is SetOutcome.WAITING:
        return gettext("It has a deletionTimestamp and stays until its grace period is over.")
    if row.taker is not None and not row.is_planned:
        return gettext("It belongs to %(owner)s and goes with it.") % {"owner": _name(row.taker)}
    return ""


def _explain_deletion(row: SetRow, given: SetQuery) -> str:
    if not row.is_planned:
        return ""
    if row.is_ended:
        return gettext("Its deletion has begun, and the apply leaves no finalizer.")
    if given.is_deletion:
        return gettext("The manifests name it.")
    if given.task is SetTask.APPLYSET:
        return gettext("It is a member of the ApplySet and not in the manifests.")
    if given.selector:
        return gettext("It was applied before, the selector matches it, and it is not in the manifests.")
    return gettext("It was applied before, and it is not in the manifests.")


def _explain_kept(row: SetRow, given: SetQuery) -> str:
    if row.taker is not None:
        return gettext("It belongs to %(owner)s and is deleted once that is gone.") % {"owner": _name(row.taker)}
    if row.stays is not None:
        why = explain_stay(row.stays)
        return gettext("%(reason)s.") % {"reason": f"{why[:1].upper()}{why[1:]}"}
    if given.is_deletion:
        return gettext("The manifests do not name it, and it belongs to nothing that is deleted.")
    if given.task is SetTask.KEEP:
        return gettext("Without prune, apply deletes nothing.")
    return gettext("Prune does not delete it.")


def _explain(row: SetRow, given: SetQuery) -> str:
    """Return why this becomes of an object."""
    match row.outcome:
        case SetOutcome.REFUSED:
            return row.error
        case SetOutcome.ABSENT:
            return gettext("It does not exist: nothing is sent.")
        case SetOutcome.KEPT:
            return _explain_kept(row, given)
        case SetOutcome.ORPHANED:
            return gettext("%(owner)s is deleted; it stays, without that owner.") % {"owner": _name(row.taker)}
        case SetOutcome.CREATED | SetOutcome.UPDATED | SetOutcome.UNCHANGED if row.is_parent:
            return gettext("It is the parent of the ApplySet and records its kinds and namespaces.")
        case SetOutcome.CREATED | SetOutcome.UPDATED | SetOutcome.UNCHANGED:
            return gettext("The manifests name it.")
        case _:
            return " ".join(filter(None, (_explain_deletion(row, given), _explain_end(row))))


def _present_row(row: SetRow, given: SetQuery) -> SetObjectRow:
    ref = row.ref
    listed = [risk for risk in row.risks if row.is_planned and risk.kind not in _SAID]
    risks = tuple(render_risk(risk, gettext) for risk in listed)
    return SetObjectRow(
        ref.gvk.kind, ref.name, ref.namespace, _STYLES[row.outcome], _explain(row, given), tuple(dict.fromkeys(risks))
    )


def _list_shares(answer: SetAnswer) -> tuple[SetShare, ...]:
    counts = Counter(row.outcome for row in answer.rows)
    return tuple(SetShare(_STYLES[outcome], count) for outcome, count in counts.items())


def _list_notices(answer: SetAnswer, given: SetQuery) -> Iterator[Notice]:
    if answer.problems:
        is_pruning = given.task in (SetTask.ALLOWLIST, SetTask.APPLYSET)
        title = gettext("Nothing is pruned") if is_pruning else gettext("Not all objects can be read")
        yield Notice(OBJECT_STYLES[Operation.ERROR], title, lines=answer.problems)


def _list_notes(answer: SetAnswer, given: SetQuery) -> Iterator[str]:
    outcomes = {row.outcome for row in answer.rows}
    if given.is_deletion:
        yield str(_PROPAGATED[given.propagation])
        if SetOutcome.WAITING in outcomes:
            yield gettext("kubectl delete waits until objects are gone; with --wait=false it ends at once.")
    elif any(row.is_planned and not row.is_ended for row in answer.rows):
        yield gettext("Prune deletes after all objects are applied.")
        yield str(_PROPAGATED[Propagation.BACKGROUND])


def render_set(given: SetQuery, *, now: str) -> str:
    """Return the answer to a masked question as HTML. Raises `PlaygroundQueryError`."""
    answer = whole_sets.explain_set(given, now=now)
    context = {
        "command": given.command,
        "rows": [_present_row(row, given) for row in answer.rows],
        "shares": _list_shares(answer),
        "notices": tuple(_list_notices(answer, given)),
        "notes": tuple(_list_notes(answer, given)),
    }
    return render_to_string("playground/_set_answer.html", context)


def answer(asked: JSONObject) -> JSONObject:
    """Return the answer to a question about a set: the masked input and the answer as HTML, or its problems."""
    given = SetQuery.from_json(asked["given"])
    try:
        kept = given if asked["is_masked"] else whole_sets.without_secrets(given)
        return {"kept": kept.to_json(), "html": render_set(kept, now=asked["now"])}
    except PlaygroundQueryError as error:
        problems = error.problems or (playground.NOT_COMPUTED,)
        return {"problems": [list(named) for named in playground.name_lines(problems, asked["given"])]}
