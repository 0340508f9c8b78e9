"""Find the last runs of the same set, so that a plan which prunes can say what changed since.

kubectl gives a set no name when it prunes by allowlist. A run belongs to the same set if it applied at least half of
the objects of the plan in their namespaces. If there is none, objects with these names in other namespaces count too,
but only in runs that the requester of the plan may view. If there is still none, it is the newest run that applied any
of the objects, except Namespaces, which several sets share. Reverts do not count: their files are generated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db.models import QuerySet
from msgspec import Struct

from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.kinds import NAMESPACE
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.planning.model.plan import APPLIED
from applyviz.engine.planning.objects.context import EarlierRun
from applyviz.engine.requests.options import PruneMode
from applyviz.records.enums import RunState
from applyviz.records.models import ApplyRun, ObjectChange, Plan, Review
from applyviz.workflow.foundation import access
from applyviz.workflow.foundation.access import Person

_Name = tuple[str, str, str, str]
_SEARCHED = (PruneMode.ALLOWLIST, PruneMode.APPLYSET)
_PRUNING = tuple(mode.value for mode in _SEARCHED)
_MOST_RUNS = 20
_MOST_PROBED = 50


class _AppliedSet(Struct, frozen=True):
    """The objects of a plan by group, kind, namespace and name; in no namespace, they count as in the default one."""

    default: str
    names: frozenset[_Name]

    def count_in(self, run: ApplyRun, *, has_moved: bool) -> int:
        """Return how many of the objects a run applied; `has_moved`: in whatever namespace."""
        rows = _list_applied(run).values_list("group", "kind", "namespace", "name")
        applied = {(group, kind, namespace or self.default, name) for group, kind, namespace, name in rows}
        if not has_moved:
            return len(self.names & applied)
        return len({name[:2] + name[3:] for name in self.names} & {name[:2] + name[3:] for name in applied})

    def list_runs(self, runs: QuerySet[ApplyRun], *, has_moved: bool) -> QuerySet[ApplyRun]:
        """Return those of the runs, the newest first, that applied one of some of the objects."""
        _groups, kinds, namespaces, names = map(set, zip(*self.names, strict=True))
        probed = sorted(names)[:: -(-len(names) // _MOST_PROBED)]
        having = ObjectChange.objects.filter(name__in=probed, kind__in=kinds, operation__in=APPLIED)
        having = having if has_moved else having.filter(namespace__in=namespaces | {""})
        found = runs.filter(plan__in=having.order_by().values("plan_id"))
        return found.select_related("plan__revision").order_by("-number")[:_MOST_RUNS]

    def find_run(self, runs: QuerySet[ApplyRun], viewer: Person) -> ApplyRun | None:
        """Return the newest run of this set, or None; `viewer` may view it if it is found in other namespaces."""
        visible = Review.objects.filter(access.select_reviews(viewer)).values("pk")
        partial = None
        for has_moved, searched in ((False, runs), (True, runs.filter(plan__review__in=visible))):
            for run in self.list_runs(searched, has_moved=has_moved):
                shared = self.count_in(run, has_moved=has_moved)
                if shared * 2 >= len(self.names):
                    return run
                partial = partial or (run if shared else None)
        return partial


def _read_set(documents: Iterable[ManifestDocument], default: str) -> _AppliedSet:
    named = frozenset((d.ref.gvk.group, d.ref.gvk.kind, d.ref.namespace or default, d.ref.name) for d in documents)
    return _AppliedSet(default, frozenset(name for name in named if name[:2] != NAMESPACE) or named)


def _list_applied(run: ApplyRun) -> QuerySet[ObjectChange]:
    return run.plan.changes.filter(operation__in=APPLIED).order_by("position")


def _describe(run: ApplyRun) -> EarlierRun:
    files = run.plan.revision.files.order_by("position").values_list("name", flat=True)
    return EarlierRun(str(run.number), options_from_json(run.plan.options), tuple(files), tuple(_list_objects(run)))


def _list_objects(run: ApplyRun) -> Iterator[ObjectRef]:
    for row in _list_applied(run).only("plan_id", "group", "version", "kind", "namespace", "name"):
        yield ObjectRef(GroupVersionKind(row.group, row.version, row.kind), row.namespace, row.name)


def find_earlier_run(plan: Plan, documents: Iterable[ManifestDocument]) -> EarlierRun | None:
    """Return the last run of the set of a plan that prunes, with the last of its runs that pruned; None without one."""
    options = options_from_json(plan.options)
    planned = _read_set(documents, options.namespace)
    if options.prune.mode not in _SEARCHED or not planned.names:
        return None
    runs = ApplyRun.objects.filter(
        plan__target__cluster=plan.target.cluster,
        plan__options__action__isnull=True,
        plan__review__undoes__isnull=True,
        state=RunState.APPLIED,
    )
    last = planned.find_run(runs, plan.requested_by)
    if last is None:
        return None
    pruned = planned.find_run(runs.filter(plan__options__prune__mode__in=_PRUNING), plan.requested_by)
    return replace(_describe(last), pruned=_describe(pruned) if pruned not in (None, last) else None)
