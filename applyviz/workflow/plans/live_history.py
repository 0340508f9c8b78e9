"""Hide audit details about Secrets from people who may not read those Secrets.

The signed chain stores the full details as proof of each write. The request, the result and live changes of a Secret
answer a guess at its value, so readers see them only where `live_values.py` allows it. An export without a detail keeps
its salted hash and still verifies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db.models import Q, QuerySet

from applyviz.engine.objects.values import JSONObject
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, Cluster, LiveFinding
from applyviz.workflow.foundation.access import Visitor
from applyviz.workflow.plans.live_values import WITHHELD, find_readable

_OF_RUNS = (AuditAction.OBJECT_INTENT.value, AuditAction.OBJECT_RESULT.value)
# A risk that must be acknowledged can follow from a live value, as that of a replacement does.
_OF_LIVE = (
    *(AuditAction.LIVE_CHANGED.value, AuditAction.LIVE_DRIFTED.value),
    *(AuditAction.RISK_ACKNOWLEDGED.value, AuditAction.ACKNOWLEDGMENT_WITHDRAWN.value),
)
NOT_SHOWN = {"detail": WITHHELD}
"""The replacement for a detail that a reader may not see."""
TELLING = Q(group="", kind="Secret", action__in=(*_OF_RUNS, *_OF_LIVE))
"""The actions whose entries reveal how a Secret compares with its live values."""
SILENT = Q(group="", kind="Secret", action__in=_OF_LIVE)
"""The actions whose entries about a hidden Secret are not shown at all, so that they must not be counted either."""
Secret = tuple[str, str, str]


def _is_telling(row: JSONObject) -> bool:
    return not row["group"] and row["kind"] == "Secret" and row["action"] in (*_OF_RUNS, *_OF_LIVE)


def is_silent(entry: AuditEntry) -> bool:
    """Return whether an entry is one of those that `SILENT` selects."""
    return not entry.group and entry.kind == "Secret" and entry.action in _OF_LIVE


def _find_hidden(secrets: Iterable[Secret], reader: Visitor, *, can_ask: bool) -> frozenset[Secret]:
    by_cluster: dict[str, list[tuple[str, str]]] = {}
    for slug, namespace, name in dict.fromkeys(secrets):
        by_cluster.setdefault(slug, []).append((namespace, name))
    clusters = {cluster.slug: cluster for cluster in Cluster.objects.filter(slug__in=by_cluster)}
    hidden: set[Secret] = set()
    for slug, names in by_cluster.items():
        cluster = clusters.get(slug)
        readable = find_readable(cluster, names, reader, can_ask=can_ask) if cluster is not None else frozenset()
        hidden.update((slug, *name) for name in names if name not in readable)
    return frozenset(hidden)


def is_hidden(slug: str, about: Mapping[str, str], reader: Visitor) -> bool:
    """Return whether an object (its group, kind, namespace and name) is a Secret that is hidden from a reader."""
    if about["group"] or about["kind"] != "Secret":
        return False
    return bool(_find_hidden([(slug, about["namespace"], about["name"])], reader, can_ask=False))


def show_entries(entries: Collection[AuditEntry], reader: Visitor | None, *, can_ask: bool = False) -> list[AuditEntry]:
    """Return entries as a reader sees them; `reader` None: the installation itself, which sees all.

    - Entries of runs about a hidden Secret keep who, when and which object, and lose their detail.
    - Entries about what changed live in such a Secret, and about its risks, are left out.
    """
    telling = [entry for entry in entries if _is_telling(vars(entry))]
    if reader is None or not telling:
        return list(entries)
    hidden = _find_hidden(((e.cluster, e.namespace, e.name) for e in telling), reader, can_ask=can_ask)
    chosen = {entry.pk for entry in telling if (entry.cluster, entry.namespace, entry.name) in hidden}
    for entry in telling:
        if entry.pk in chosen:
            entry.detail = dict(NOT_SHOWN)
    return [entry for entry in entries if entry.pk not in chosen or entry.action in _OF_RUNS]


def show_rows(rows: Sequence[JSONObject], reader: Visitor | None) -> Sequence[JSONObject]:
    """Return stored entries as a reader may export them: a detail that is withheld is empty, and so is its salt."""
    telling = [row for row in rows if _is_telling(row)]
    if reader is None or not telling:
        return rows
    hidden = _find_hidden(((r["cluster"], r["namespace"], r["name"]) for r in telling), reader, can_ask=False)

    def is_hidden(row: JSONObject) -> bool:
        return row["pruned_by"] is None and (row["cluster"], row["namespace"], row["name"]) in hidden

    return [{**row, "detail": NOT_SHOWN, "salt": ""} if _is_telling(row) and is_hidden(row) else row for row in rows]


def show_findings(findings: QuerySet[LiveFinding], reader: Visitor) -> QuerySet[LiveFinding]:
    """Return what was found live without what concerns Secrets that are hidden from a reader."""
    secrets = findings.filter(group="", kind="Secret").order_by()
    rows = list(secrets.values_list("pk", "cluster__slug", "namespace", "name"))
    if not rows:
        return findings
    hidden = _find_hidden(((slug, space, name) for _pk, slug, space, name in rows), reader, can_ask=False)
    return findings.exclude(pk__in=[pk for pk, *secret in rows if tuple(secret) in hidden])
