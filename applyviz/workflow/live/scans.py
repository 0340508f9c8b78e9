"""Scans: read the live objects of a cluster and store findings: outside changes, drift, unmanaged objects.

A person or the recovery task requests a scan; a worker with a lease performs it and reads a bounded number of objects.
From time to time it is the whole cluster; after a run, the objects that it wrote.
New findings are recorded in the audit trail, except those of the first scan of a cluster and objects that no run ever
wrote: they existed before.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from applyviz import clock
from applyviz.clusters import connect
from applyviz.clusters.server_clock import to_ours
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, JSONValue, canonical_json
from applyviz.engine.planning.model.plan import DELETIONS, Certainty
from applyviz.queue import TaskName
from applyviz.records.enums import AuditAction, FindingSort
from applyviz.records.models import (
    ApplyRun,
    Cluster,
    ClusterScan,
    LiveFinding,
    ObjectChange,
)
from applyviz.workflow.audit import trail
from applyviz.workflow.clusters import masking_settings
from applyviz.workflow.foundation import access, outbox
from applyviz.workflow.foundation.access import Action, Person, Visitor
from applyviz.workflow.foundation.errors import NotPossibleError
from applyviz.workflow.foundation.leases import LeaseLostError, LeaseRenewer, WorkerStoppingError, find_lease_end
from applyviz.workflow.foundation.logs import log_unexpected
from applyviz.workflow.foundation.stored_json import as_stored
from applyviz.workflow.live.drift import find_drift
from applyviz.workflow.live.inventory import UNLISTED, Listing
from applyviz.workflow.live.shown_owners import show_owners
from applyviz.workflow.live.unreviewed_changes import (
    UnreviewedChange,
    find_unreviewed_changes,
    is_controller,
    is_made_by_controller,
)
from applyviz.workflow.live.written_objects import Key, KnownRuns, is_touched, key_of, list_refs, select_touched
from applyviz.workflow.plans import changes
from applyviz.workflow.plans.live_history import show_findings

logger = logging.getLogger(__name__)
_LATEST_RUNS = 50


class ScannedObject(Struct, frozen=True):
    """One finding before it is stored.

    - `changed_at` is of the clock of the API server, which is `ahead` of ours; the key must not depend on that.
    """

    sort: FindingSort
    ref: ObjectRef
    manager: str = ""
    operation: str = ""
    subresource: str = ""
    changed_at: datetime | None = None
    fields: tuple[JSONValue, ...] = ()
    run: int | None = None
    ahead: timedelta | None = None

    @property
    def happened_at(self) -> datetime | None:
        """Return when it changed, by our clock."""
        return to_ours(self.changed_at, self.ahead) if self.changed_at else None

    @property
    def key(self) -> str:
        """Return the key of a finding; drift of other fields or to other values is another finding."""
        at = self.changed_at.isoformat() if self.changed_at else ""
        fields = list(self.fields) if self.sort is FindingSort.DRIFTED else []
        parts = [self.sort.value, *self.ref.key, self.manager, self.operation, self.subresource, at, self.run, fields]
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()


def _choose_task(since: datetime | None) -> TaskName:
    """Return the task of a scan: that of a whole cluster takes long, and nothing else waits for it."""
    return TaskName.SCAN_WHOLE_CLUSTER if since is None else TaskName.SCAN_CLUSTER


def request_scan(cluster: Cluster, *, by: Person | None, since: datetime | None = None) -> ClusterScan:
    """Request a scan of a cluster; raises when one is already running. `by` None: the recovery task.

    - `since`: it looks only at what runs wrote that ended since then.
    """
    if by is not None:
        access.require_on(by, Action.WRITE, cluster.slug)
    if cluster.archived_at is not None:
        raise NotPossibleError(_("this cluster is archived"))
    try:
        with transaction.atomic():
            scan = ClusterScan.objects.create(cluster=cluster, requested_by=by, created_at=clock.now(), since=since)
            outbox.post(_choose_task(since), scan_id=scan.pk)
    except IntegrityError as error:
        raise NotPossibleError(_("a scan of this cluster is already running")) from error
    return scan


def _find_outrun() -> dict[int, datetime]:
    """Return the clusters where one of the latest runs ended after the last scan was requested, and when it was."""
    latest = ApplyRun.objects.exclude(finished_at=None).order_by("-number")
    ended: dict[int, datetime] = {}
    for cluster, at in latest.values_list("plan__target__cluster", "finished_at")[:_LATEST_RUNS]:
        if at is not None:
            ended[cluster] = max(at, ended.get(cluster, at))
    scans = ClusterScan.objects.filter(cluster__in=list(ended)).values_list("cluster").annotate(last=Max("created_at"))
    return {cluster: last for cluster, last in scans if last < ended[cluster]}


def request_due(*, now: datetime) -> int:
    """Request the scans that are due and those of what runs wrote since the last one; return how many."""
    if not settings.APPLYVIZ_SCAN_MINUTES:
        return 0
    before = now - timedelta(minutes=settings.APPLYVIZ_SCAN_MINUTES)
    outrun = _find_outrun()
    is_due = Q(last=None) | Q(last__lt=before) | Q(pk__in=outrun)
    asked = 0
    clusters = Cluster.objects.filter(archived_at=None, paused_at=None)
    clusters = clusters.annotate(last=Max("scans__created_at", filter=Q(scans__since=None)))
    for cluster in clusters.filter(is_due):
        is_whole = cluster.last is None or cluster.last < before
        try:
            request_scan(cluster, by=None, since=None if is_whole else outrun[cluster.pk])
        except NotPossibleError:
            continue
        asked += 1
    return asked


def find_unfinished(*, now: datetime) -> list[tuple[int, TaskName]]:
    """Return scans without a worker, each with its task."""
    waiting = ClusterScan.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), finished_at=None)
    found = waiting.filter(created_at__lt=now - timedelta(seconds=10)).values_list("pk", "since")
    return [(pk, _choose_task(since)) for pk, since in found]


def _claim(scan_id: int) -> ClusterScan | None:
    now = clock.now()
    free = ClusterScan.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), pk=scan_id, finished_at=None)
    if not free.update(started_at=now, lease_until=find_lease_end(now)):
        return None
    return ClusterScan.objects.select_related("cluster").get(pk=scan_id)


def _select_own(scan: ClusterScan) -> QuerySet[ClusterScan]:
    """Return the row of a scan as long as no other worker has claimed or ended it."""
    return ClusterScan.objects.filter(pk=scan.pk, started_at=scan.started_at, finished_at=None)


def _keep(scan: ClusterScan) -> bool:
    """Renew the lease; return False when another worker has the scan."""
    return bool(_select_own(scan).update(lease_until=find_lease_end(clock.now())))


def _release(scan: ClusterScan) -> None:
    """Leave the scan to the next worker at once."""
    _select_own(scan).update(lease_until=None)


def _find_changed(ref: ObjectRef, live: JSONObject, known: KnownRuns) -> Iterator[ScannedObject]:
    writes, result = known.writes.get(key_of(ref), []), known.results.get(key_of(ref))
    if result is None and not writes:
        if not is_made_by_controller(live):
            yield from _find_unreviewed(ref, live, known)
        return
    run = result.run.number if result else None
    for one in find_unreviewed_changes(live, writes, since=known.find_start(key_of(ref))):
        yield _make_finding(FindingSort.CHANGED, ref, one, known, run)


def _make_finding(
    sort: FindingSort, ref: ObjectRef, found: UnreviewedChange, known: KnownRuns, run: int | None = None
) -> ScannedObject:
    return ScannedObject(sort, ref, *found.owner.identity, found.at, found.fields, run, known.ahead)


def _find_unreviewed(ref: ObjectRef, live: JSONObject, known: KnownRuns) -> Iterator[ScannedObject]:
    for one in find_unreviewed_changes(live, ()):
        if not is_controller(one.owner.manager):
            yield _make_finding(FindingSort.UNREVIEWED, ref, one, known)


def _find_drifted(ref: ObjectRef, live: JSONObject, known: KnownRuns, listing: Listing) -> Iterator[ScannedObject]:
    result = known.results.get(key_of(ref))
    if result is None:
        return
    change = changes.read_masked(result.change)
    if change.operation.is_deletion:
        return
    tag_key = result.run.plan.tag_key.open_bytes()
    schema = listing.catalog.find_kind(change.ref.gvk)
    if change.ref.gvk != ref.gvk:  # another API version than the applied one: fields may have other names
        return
    policy = masking_settings.policy_of(result.run.plan)
    masked = changes.mask_object(live, change.ref, tag_key=tag_key, policy=policy, shown=change.versions)
    root, is_confirmed = schema.root if schema else None, change.certainty is Certainty.CONFIRMED
    drifted = find_drift(change.versions, masked, root=root, is_confirmed=is_confirmed)
    fields = tuple(one.to_json() for one in drifted)
    if fields:
        yield ScannedObject(FindingSort.DRIFTED, ref, fields=fields, run=result.run.number)


def _find_missing(known: KnownRuns, met: set[Key], unread: Iterable[str]) -> Iterator[ScannedObject]:
    hidden = set(unread)
    for key, result in known.results.items():
        if key not in met and key[1] not in hidden and result.change.operation not in DELETIONS:
            yield ScannedObject(FindingSort.MISSING, changes.ref_of(result.change), run=result.run.number)


def _find_in_unlisted(known: KnownRuns, met: set[Key], listing: Listing) -> Iterator[ScannedObject]:
    """Yield the drift of applied objects whose kinds are not listed, and add those that exist to `met`.

    Controllers write these kinds all the time, so changes outside review are not looked for.
    """
    results = (result for key, result in known.results.items() if key[1] in UNLISTED)
    for ref, live in listing.read([changes.ref_of(result.change) for result in results]):
        met.add(key_of(ref))
        yield from _find_drifted(ref, live, known, listing)


def _select_touched(scan: ClusterScan) -> QuerySet[ObjectChange] | None:
    """Return what a scan after a run looks at; None for the whole cluster."""
    return None if scan.since is None else select_touched(scan.cluster, scan.since)


def _find_objects(scan: ClusterScan, renewer: LeaseRenewer) -> list[ScannedObject]:
    touched = _select_touched(scan)
    met: set[Key] = set()
    found: list[ScannedObject] = []
    policy = masking_settings.policy_for(scan.cluster)
    with connect.open_reader(scan.cluster) as reader:
        listing = Listing(reader, scan.cluster.server)
        known = KnownRuns.load(scan.cluster, touched, ahead=reader.measure_ahead(clock.now()))
        for ref, live in listing.walk() if touched is None else listing.read(list_refs(touched)):
            renewer.check()
            met.add(key_of(ref))
            found += _find_changed(ref, show_owners(live, ref, policy, listing.catalog), known)
            found += _find_drifted(ref, live, known, listing)
        if touched is None:
            found += _find_in_unlisted(known, met, listing)
    if not listing.is_cut:
        found += _find_missing(known, met, listing.unread)
    scan.objects_read, scan.is_cut, scan.unread = listing.count, listing.is_cut, listing.unread
    return found


def _record_finding(cluster: Cluster, found: ScannedObject) -> None:
    is_change = found.sort is FindingSort.CHANGED
    detail = {
        "sort": found.sort.value,
        "operation": found.operation,
        "subresource": found.subresource,
        "changed at": found.happened_at.isoformat() if found.happened_at else "",
        "fields": list(found.fields),
        "last run": found.run,
    }
    trail.record(
        AuditAction.LIVE_CHANGED if is_change else AuditAction.LIVE_DRIFTED,
        by=None,
        about=trail.AuditSubject(cluster=cluster.slug, ref=found.ref, field_manager=found.manager),
        detail={name: value for name, value in detail.items() if value not in ("", None)},
    )


def _store_finding(cluster: Cluster, found: ScannedObject, now: datetime, *, is_recorded: bool) -> None:
    ref = found.ref
    LiveFinding.objects.create(
        cluster=cluster,
        key=found.key,
        sort=found.sort,
        group=ref.gvk.group,
        version=ref.gvk.version,
        kind=ref.gvk.kind,
        namespace=ref.namespace,
        name=ref.name,
        manager=found.manager,
        operation=found.operation,
        subresource=found.subresource,
        changed_at=found.happened_at,
        fields=as_stored(list(found.fields)),
        run=found.run,
        first_seen=now,
        last_seen=now,
    )
    if is_recorded:
        _record_finding(cluster, found)


def _finish(scan: ClusterScan, found: list[ScannedObject], problem: str) -> None:
    """Store the findings and end the scan, unless another worker has already ended it."""
    now = clock.now()
    with transaction.atomic():
        ended = _select_own(scan).update(
            finished_at=now,
            objects_read=scan.objects_read,
            is_cut=scan.is_cut,
            unread=scan.unread,
            problem=problem,
        )
        if not ended or problem:
            return
        kept = LiveFinding.objects.filter(cluster=scan.cluster)
        by_key = {one.key: one for one in found}
        known = set(kept.filter(key__in=list(by_key)).values_list("key", flat=True)) if by_key else set()
        earlier = ClusterScan.objects.filter(cluster=scan.cluster)
        has_earlier = earlier.filter(finished_at__lt=now, problem="", since=None).exclude(pk=scan.pk).exists()
        for key, one in by_key.items():
            if key not in known:
                _store_finding(
                    scan.cluster, one, now, is_recorded=has_earlier and one.sort is not FindingSort.UNREVIEWED
                )
        kept.filter(key__in=list(by_key)).update(last_seen=now, gone_at=None)
        gone = kept.filter(gone_at=None, last_seen__lt=now).exclude(kind__in=scan.unread)
        touched = _select_touched(scan)
        if touched is not None:
            gone = gone.filter(is_touched(touched))
        if not scan.is_cut:
            gone.update(gone_at=now)


def scan_cluster(scan_id: int) -> None:
    """Perform a scan, unless another worker has it; a worker that must stop leaves it to the next one."""
    scan = _claim(scan_id)
    if scan is None:
        return
    try:
        with LeaseRenewer(lambda: _keep(scan), release=lambda: _release(scan)) as renewer:
            found, problem = _find_objects(scan, renewer), ""
    except (LeaseLostError, WorkerStoppingError):
        _release(scan)
        return
    except ApplyVizError as error:
        found, problem = [], str(error)
    except Exception as error:
        log_unexpected(logger, f"scan {scan_id} could not be made", error)
        found, problem = [], f"an unexpected error stopped the scan ({type(error).__name__})"
    _finish(scan, found, problem)


def find_last(cluster: Cluster, *, for_user: Visitor) -> ClusterScan | None:
    """Return the newest scan of the whole cluster that is finished or running."""
    access.require(for_user, Action.VIEW)
    return ClusterScan.objects.filter(cluster=cluster, since=None).order_by("-id").first()


def list_findings(*, for_user: Visitor) -> QuerySet[LiveFinding]:
    """Return the open findings, without Secrets that are hidden from this person."""
    access.require(for_user, Action.VIEW)
    seen = access.limit_findings(LiveFinding.objects.filter(gone_at=None), for_user)
    seen = show_findings(seen, for_user)
    return seen.order_by("sort", F("changed_at").desc(nulls_last=True), "id")


def find_distinct(found: QuerySet[LiveFinding]) -> QuerySet[LiveFinding]:
    """Return the findings without drift of objects that also have an outside change: both describe the same change."""
    columns = ("cluster", "group", "kind", "namespace", "name")
    changed = found.filter(sort=FindingSort.CHANGED, **{name: OuterRef(name) for name in columns}).order_by()
    return found.exclude(Exists(changed), sort=FindingSort.DRIFTED)
