"""Visibility of comparisons with live Secret values: only for people who may read the Secret anyway.

Rule: "same" and "changed" answer one guess per plan. Where people are mapped to Kubernetes users, their own
SelfSubjectAccessReview for `get` on that Secret decides; otherwise only authors and approvers of the scope see the
comparison. Everyone may see how the manifest compares with the last applied one. In doubt it is hidden: a plan that
was loaded without a reader is shown as to a person who may read no Secret.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from django.contrib.auth.models import User as Person
from django.core.cache import cache
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz.engine.objects.accessors import as_list, as_text
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.planning.model import plan as engine
from applyviz.engine.planning.model.plan import Certainty, Operation
from applyviz.records.enums import Role, RolloutState
from applyviz.records.models import ApplyRun, Cluster, ObjectChange, ObjectResult, Plan
from applyviz.records.sealing import can_open
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.records.written_queries import WrittenQuery
from applyviz.workflow.clusters import impersonation, registration
from applyviz.workflow.clusters.permissions import RequiredAccess, is_allowed
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.foundation.compared import COMPARED, compares, is_compared
from applyviz.workflow.foundation.errors import NotVisibleError
from applyviz.workflow.foundation.scopes import ScopeEntry
from applyviz.workflow.foundation.worker_questions import WorkerQuestion, ask_worker
from applyviz.workflow.plans import changes

_CACHE_SECONDS = 30
WITHHELD = Operation.WITHHELD.value
"""The outcome on pages and in the API where the real one is hidden; never stored."""
Name = tuple[str, str]
Compared = tuple[str, str, int, str]


class LiveView(Struct, frozen=True):
    """One reader's view of a plan: `readable` are the Secrets that they may read; None: all of them."""

    readable: frozenset[Name] | None = frozenset()

    def hides(self, row: ObjectChange) -> bool:
        """Return whether the comparison of this object with live is hidden from the reader."""
        return is_compared(row) and self.readable is not None and (row.namespace, row.name) not in self.readable


def hides(plan: Plan, row: ObjectChange) -> bool:
    """Return whether the comparison of this object with live is hidden from the reader of the plan."""
    return _view_of(plan).hides(row)


def show_rows(plan: Plan, rows: Iterable[ObjectChange]) -> Iterator[ObjectChange]:
    """Yield rows as the reader of their plan may see them; hidden ones are copies that are read withheld."""
    view = _view_of(plan)
    return (_withhold(row) if view.hides(row) else row for row in rows)


def list_rows(plan: Plan, *chosen: Q, with_documents: bool = False) -> list[ObjectChange]:
    """Return rows of a plan in order, as its reader may see them."""
    left_out = ("sealed",) if with_documents else ("document", "found_risks", "sealed")
    return list(show_rows(plan, plan.changes.filter(*chosen).defer(*left_out).order_by("position")))


def _select_row(plan: int, position: int) -> QuerySet[ObjectChange]:
    return ObjectChange.objects.filter(plan=plan, position=position).defer("sealed")


_WITH_DOCUMENT = WrittenQuery(_select_row)
_WITHOUT_DOCUMENT = WrittenQuery(lambda plan, position: _select_row(plan, position).defer("document", "found_risks"))


def get_row(plan: Plan, position: int, *, with_documents: bool = False) -> ObjectChange:
    """Return one row of a plan as its reader may see it; raises `NotVisibleError` if the plan has none there."""
    row = (_WITH_DOCUMENT if with_documents else _WITHOUT_DOCUMENT).find(plan.pk, position)
    if row is None:
        raise NotVisibleError(f"plan {plan.number} has no object {position}")
    row.plan = plan
    return next(show_rows(plan, [row]))


def read_change(plan: Plan, position: int) -> engine.PlannedObject:
    """Return one object of a plan, masked for its reader."""
    return changes.read_masked(get_row(plan, position, with_documents=True))


def _withhold(row: ObjectChange) -> ObjectChange:
    shown = copy(row)
    shown.operation, shown.certainty, shown.has_effect = Operation.WITHHELD.value, Certainty.UNKNOWN.value, True
    shown.conflicts, shown.risks, shown.highest_risk, shown.risk_levels, shown.error = 0, 0, "", [], ""
    shown.found_risks = []
    return shown


def find_readable(cluster: Cluster, names: Sequence[Name], reader: Visitor, *, can_ask: bool) -> frozenset[Name]:
    """Return those Secrets of a cluster whose comparison with live a reader may see, by namespace and name.

    - `can_ask`: whether the cluster may be asked now; otherwise only what was answered a moment ago counts.
    """
    identity = _try_find_identity(reader, cluster)
    return _find_readable(cluster, names, reader, identity, can_ask=can_ask)


def list_allowed(cluster: Cluster, names: Sequence[Name], *, by: Person) -> list[Name]:
    """Return the Secrets that a person may `get`, according to the cluster and their mapping; needs a connection."""
    with impersonation.open_reader(cluster, for_user=by) as reader:
        asked = [RequiredAccess("get", "", "secrets", namespace, name).ask() for namespace, name in names]
        answers = reader.try_send_all(asked)
    return [name for name, answer in zip(names, answers, strict=True) if is_allowed(answer) is True]


def _ask(cluster: Cluster, names: Sequence[Name], person: Person) -> set[Name]:
    """Return which of these Secrets a person may read; raises when the cluster, or a worker, does not answer."""
    if can_open():
        visible = registration.get_cluster(cluster.slug, for_user=person)
        return set(list_allowed(visible, names, by=person))
    content = {"names": [list(name) for name in names]}
    pairs = ask_worker(WorkerQuestion(WorkerRequestKind.SECRET_ACCESS, person, cluster, content))
    return {(as_text(namespace), as_text(name)) for namespace, name in map(as_list, as_list(pairs))}


def _try_find_identity(reader: Visitor, cluster: Cluster) -> impersonation.Identity | None:
    try:
        return impersonation.find_identity(reader, cluster) if isinstance(reader, Person) else None
    except ApplyVizError:
        return None


def _find_readable(
    cluster: Cluster, names: Sequence[Name], reader: Visitor, identity: impersonation.Identity | None, *, can_ask: bool
) -> frozenset[Name]:
    if identity is None or not isinstance(reader, Person):
        return frozenset()
    if identity.is_own:
        seeing = {Role.AUTHOR, Role.APPROVER}
        return frozenset(name for name in names if access.roles_of(reader, ScopeEntry(cluster.slug, name[0])) & seeing)
    key = f"livevalues:{reader.pk}:{cluster.pk}:{identity}"
    known: dict[Name, bool] = cache.get(key) or {}
    missing = [name for name in names if name not in known]
    if missing and can_ask:
        try:
            allowed = _ask(cluster, missing, reader)
        except ApplyVizError:  # a missing answer means no, and is requested again
            return frozenset(name for name in names if known.get(name))
        known = {**known, **{name: name in allowed for name in missing}}
        cache.set(key, known, _CACHE_SECONDS)
    return frozenset(name for name in names if known.get(name))


def list_compared(rows: Iterable[ObjectChange]) -> list[Compared]:
    """Return the Secrets of a plan that are compared with live, for its row, so that lists need no more queries."""
    return [(r.namespace, r.name, r.position, r.operation) for r in rows if is_compared(r)]


def _list_compared(plan: Plan) -> list[Compared]:
    if plan.compared is not None:
        return [(namespace, name, position, operation) for namespace, name, position, operation in plan.compared]
    return list(plan.changes.filter(COMPARED).values_list("namespace", "name", "position", "operation"))


def _find_view(
    plan: Plan,
    compared: Sequence[Compared],
    reader: Visitor,
    can_ask: bool,
    known: dict[int, impersonation.Identity | None],
) -> LiveView:
    names = list(dict.fromkeys((namespace, name) for namespace, name, _position, _operation in compared))
    if not names:
        return LiveView(None)
    cluster = plan.target.cluster
    if cluster.pk not in known:
        known[cluster.pk] = _try_find_identity(reader, cluster)
    readable = _find_readable(cluster, names, reader, known[cluster.pk], can_ask=can_ask)
    return LiveView(None) if readable.issuperset(names) else LiveView(readable)


def show_plan(plan: Plan, reader: Visitor, *, can_ask: bool = True) -> Plan:
    """Return the plan for a reader, without figures that reveal hidden live values.

    - `can_ask`: whether a cluster may be asked now; lists of many plans use known answers only.
    - The instance is changed and never saved: a plan's state changes by an update of its row.
    """
    if getattr(plan, "shown_to", None) == reader:
        return plan
    return _show(plan, _list_compared(plan), reader, can_ask, {})


def show_plans(plans: Iterable[Plan], reader: Visitor) -> None:
    """Apply `show_plan` to each plan of a list; the number of queries grows with clusters, not with plans.

    - Asks no cluster: only known answers count.
    - Plans that are not complete have no record of their Secrets; those are read together.
    """
    waiting = [plan for plan in plans if getattr(plan, "shown_to", None) != reader]
    silent = [plan.pk for plan in waiting if plan.compared is None]
    found: dict[int, list[Compared]] = {}
    if silent:
        rows = ObjectChange.objects.filter(COMPARED, plan__in=silent)
        for pk, space, name, position, operation in rows.values_list(
            "plan", "namespace", "name", "position", "operation"
        ):
            found.setdefault(pk, []).append((space, name, position, operation))
    known: dict[int, impersonation.Identity | None] = {}
    impersonation.read_together(plan.target.cluster for plan in waiting if plan.compared or plan.pk in found)
    for plan in waiting:
        compared = found.get(plan.pk, []) if plan.compared is None else _list_compared(plan)
        _show(plan, compared, reader, False, known)


def _show(
    plan: Plan,
    compared: Sequence[Compared],
    reader: Visitor,
    can_ask: bool,
    known: dict[int, impersonation.Identity | None],
) -> Plan:
    view = _find_view(plan, compared, reader, can_ask, known)
    plan.live_view, plan.shown_to = view, reader  # type: ignore[attr-defined]  # of this very instance
    if view.readable is None:
        return plan
    hidden = [one for one in compared if (one[0], one[1]) not in view.readable]
    plan.counts = blur_counts(plan.counts, (operation for *_where, operation in hidden))
    return plan


def blur_counts(counts: dict[str, int], hidden: Iterable[str]) -> dict[str, int]:
    """Return counts by operation, with the hidden ones counted as not shown."""
    found = Counter(hidden)
    if not found:
        return counts
    rest = {name: number - found.get(name, 0) for name, number in counts.items()}
    shown_counts = {name: number for name, number in rest.items() if number > 0}
    return {**shown_counts, Operation.WITHHELD.value: sum(found.values())}


def hidden_positions(plan: Plan) -> frozenset[int]:
    """Return the positions of the objects that are hidden from the reader of a plan."""
    view = _view_of(plan)
    if view.readable is None:
        return frozenset()
    found = _list_compared(plan)
    return frozenset(position for space, name, position, _operation in found if (space, name) not in view.readable)


def _view_of(plan: Plan) -> LiveView:
    """Return the view of a plan's reader; for a plan that was loaded without a reader, no Secret is readable."""
    found: LiveView = getattr(plan, "live_view", LiveView())
    return found


def show_run(run: ApplyRun, reader: Visitor) -> ApplyRun:
    """Return a run as a reader sees it, without the outcomes of Secrets that are hidden from them."""
    show_plan(run.plan, reader)
    if _view_of(run.plan).readable is None:
        return run
    hidden = [result.outcome for result in list_hidden_results(run)]
    run.summary = blur_counts(run.summary, hidden) if run.summary else run.summary
    return run


def count_shown_outcomes(run: ApplyRun) -> dict[str, int]:
    """Return how many objects of a run have each outcome, as its reader may see them, also while the run goes on."""
    counted = run.results.order_by("outcome").values_list("outcome").annotate(number=Count("pk"))
    is_whole = _view_of(run.plan).readable is None
    return blur_counts(dict(counted), () if is_whole else [result.outcome for result in list_hidden_results(run)])


def list_hidden_results(run: ApplyRun) -> list[ObjectResult]:
    """Return the results whose outcome is hidden from the reader that the run was loaded for."""
    view = _view_of(run.plan)
    return [result for result in _read_results(run) if view.hides(result.change)]


def count_outcomes(run: ApplyRun) -> dict[str, int]:
    """Return the outcomes of a run that everyone may see, without Secrets that are compared with live."""
    rows = list(run.results.values_list("outcome", "change__group", "change__kind", "change__operation"))
    return _count_outcomes((outcome, compares(*what)) for outcome, *what in rows)


def _count_outcomes(found: Iterable[tuple[str, bool]]) -> dict[str, int]:
    rows = list(found)
    counts = dict(sorted(Counter(outcome for outcome, _ in rows).items()))
    return blur_counts(counts, [outcome for outcome, is_compared in rows if is_compared])


def count_results(run: ApplyRun) -> dict[str, dict[str, int]]:
    """Return the outcomes, the checks of field owners and the rollouts of a run by state, in one statement.

    - Everyone may see them: without Secrets that are compared with live. Only workloads have rollouts.
    """
    columns = ("outcome", "owners", "rollout", "change__group", "change__kind", "change__operation")
    rows = [
        (outcome, owners, rollout, compares(*what))
        for outcome, owners, rollout, *what in run.results.values_list(*columns)
    ]
    owners = Counter(str(owners["state"]) for _, owners, _, is_compared in rows if owners and not is_compared)
    rollouts = Counter(rollout for _, _, rollout, _ in rows if rollout != RolloutState.NONE)
    return {
        "outcomes": _count_outcomes((outcome, is_compared) for outcome, _, _, is_compared in rows),
        "owners": dict(sorted(owners.items())),
        "rollouts": dict(sorted(rollouts.items())),
    }


def show_results(plan: Plan, results: Iterable[ObjectResult]) -> list[ObjectResult]:
    """Return results of a plan's run as the reader of the plan may see them."""
    view = _view_of(plan)
    return [_withhold_result(result) if view.hides(result.change) else result for result in results]


def list_results(run: ApplyRun, *chosen: Q) -> list[ObjectResult]:
    """Return results of a run in order, with their rows, as its reader may see them."""
    return show_results(run.plan, _read_results(run, *chosen))


def _read_results(run: ApplyRun, *chosen: Q) -> QuerySet[ObjectResult]:
    rows = run.results.filter(*chosen).select_related("change").order_by("position")
    return rows.defer("change__document", "change__found_risks", "change__sealed")


def _withhold_result(result: ObjectResult) -> ObjectResult:
    shown = copy(result)
    shown.change = _withhold(result.change)
    shown.outcome, shown.detail, shown.differences = WITHHELD, _("The result is not shown to you."), []
    shown.owners, shown.reads = {}, []
    shown.step, shown.started_at, shown.finished_at = 0, None, None
    shown.rollout, shown.rollout_detail, shown.pods = "", "", {}
    return shown
