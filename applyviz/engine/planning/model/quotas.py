"""Compare the pods of a plan with the ResourceQuotas of their namespaces: used now, after apply, hard.

Rule: a new pod is refused when it takes a resource above `hard`, and when a quota limits CPU or memory and a container
sets no amount, https://kubernetes.io/docs/concepts/policy/resource-quotas/#how-kubernetes-resourcequotas-work. After
apply, the namespace uses what it uses now, less the pods that the workloads of the plan have now, plus those that they
ask for. Left out: quotas with scopes, objects other than pods, and the additional pods of a rolling update.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from applyviz.engine.objects.refs import ObjectRef
from applyviz.engine.objects.values import JSONObject, get_at
from applyviz.engine.planning.model.plan import Operation, PlannedObject
from applyviz.engine.planning.model.quota_lines import Fit, QuotaLine
from applyviz.engine.planning.model.resources import (
    NOT_WRITTEN,
    PODS,
    Amounts,
    Defaults,
    count_amount,
    list_unset,
    read_defaults,
    sum_running,
    sum_wanted,
    write_amount,
)
from applyviz.engine.references.model import Key
from applyviz.engine.risks.model import Risk
from applyviz.engine.risks.planning.pods import QUOTA_EXCEEDED
from applyviz.engine.risks.quota_reads import WORKLOADS, LiveQuotas

_QUOTA = ("", "ResourceQuota")
_ALIASES = {"cpu": ("requests", "cpu"), "memory": ("requests", "memory"), "count/pods": PODS, "pods": PODS}
_ALIASES |= {f"{bound}.{name}": (bound, name) for bound in ("requests", "limits") for name in ("cpu", "memory")}


class _Workload(Struct, frozen=True):
    """The demand of one workload: the amounts of its pods now and after apply, and the amounts that it does not set."""

    key: Key
    running: Amounts
    wanted: Amounts
    unset: frozenset[tuple[str, str]]
    is_written: bool

    def grow(self, resource: tuple[str, str]) -> Decimal:
        return self.wanted.get(resource, Decimal(0)) - self.running.get(resource, Decimal(0))

    def lacks(self, resource: tuple[str, str]) -> bool:
        """Return whether new pods would have a container without an amount."""
        return self.is_written and bool(self.wanted.get(PODS)) and resource in self.unset


def _read_pods(changes: Iterable[PlannedObject], defaults: Mapping[str, Defaults]) -> Iterator[_Workload]:
    for change in changes:
        if change.ref.gvk.kind not in WORKLOADS:
            continue
        live, is_kept = change.versions.live, change.operation in NOT_WRITTEN
        after = live if is_kept else None if change.operation.is_deletion else change.versions.after
        own = defaults.get(change.ref.namespace, {})
        is_written = not is_kept and change.operation is not Operation.UNCHANGED
        kind = change.ref.gvk.kind
        yield _Workload(
            change.ref.key,
            sum_running(kind, live, own),
            sum_running(kind, live, own) if is_kept else sum_wanted(kind, after, live, own),
            list_unset(kind, after, own),
            is_written,
        )


def _list_quotas(changes: Sequence[PlannedObject], live: LiveQuotas) -> Iterator[tuple[ObjectRef, JSONObject]]:
    """Yield each quota after apply; a quota that the plan changes keeps its live status."""
    planned = {c.ref.key: c for c in changes if c.ref.key[:2] == _QUOTA and c.operation not in NOT_WRITTEN}
    found = {ref.key: (ref, quota) for quota in live.quotas for ref in (ObjectRef.from_object(quota),)}
    for key, change in planned.items():
        status = get_at(found[key][1] if key in found else None, ("status",), {})
        if change.operation.is_deletion:
            found.pop(key, None)
        elif change.versions.after is not None:
            found[key] = (change.ref, {**change.versions.after, "status": status})
    yield from sorted(found.values(), key=lambda pair: pair[0].key)


def _judge(pods: Sequence[_Workload], resource: tuple[str, str], used: Decimal, hard: Decimal) -> tuple[Decimal, Fit]:
    after = max(used + sum((one.grow(resource) for one in pods), Decimal(0)), Decimal(0))
    if any(one.lacks(resource) for one in pods):
        return after, Fit.UNSET
    return after, Fit.EXCEEDS if after > hard else Fit.FITS


def _compare(ref: ObjectRef, quota: JSONObject, pods: Sequence[_Workload]) -> Iterator[QuotaLine]:
    is_scoped = bool(get_at(quota, ("spec", "scopes")) or get_at(quota, ("spec", "scopeSelector")))
    limits = get_at(quota, ("spec", "hard"), {})
    usage = get_at(quota, ("status", "used"), {})
    for name, text in sorted((limits if isinstance(limits, Mapping) else {}).items()):
        if name not in _ALIASES:
            continue
        resource = _ALIASES[name]
        hard = write_amount(resource[1], count_amount(text))
        used = usage.get(name) if isinstance(usage, Mapping) else None
        if is_scoped or used is None:
            shown = "" if used is None else write_amount(resource[1], count_amount(used))
            fit = Fit.SCOPED if is_scoped else Fit.UNKNOWN
            yield QuotaLine(ref.namespace, ref.name, name, shown, "", hard, fit)
            continue
        amount = count_amount(used)
        after, fit = _judge(pods, resource, amount, count_amount(text))
        yield QuotaLine(
            ref.namespace,
            ref.name,
            name,
            write_amount(resource[1], amount),
            write_amount(resource[1], after),
            hard,
            fit,
        )


def check_quotas(changes: Sequence[PlannedObject], live: LiveQuotas) -> tuple[QuotaLine, ...]:
    """Return each resource of the quotas in the namespaces where the plan has workloads."""
    quotas = tuple(_list_quotas(changes, live))
    if not quotas and not live.unread:  # in most clusters; adding up the pods costs more than the rest
        return ()
    by_space: dict[str, list[_Workload]] = {}
    for one in _read_pods(changes, read_defaults(live.ranges)):
        by_space.setdefault(one.key[2], []).append(one)
    lines = [
        line
        for ref, quota in quotas
        if ref.namespace in by_space
        for line in _compare(ref, quota, by_space[ref.namespace])
    ]
    unread = (
        QuotaLine(name, "", "", "", "", "", Fit.UNREAD, status)
        for name, status in sorted(live.unread.items())
        if name in by_space
    )
    return (*lines, *unread)


def find_quota_risks(changes: Sequence[PlannedObject], live: LiveQuotas) -> Iterator[tuple[Key, Risk]]:
    """Yield the workloads whose pods a quota refuses: they take more of it, or leave out an amount that it asks for."""
    lines = [line for line in check_quotas(changes, live) if line.fit in (Fit.EXCEEDS, Fit.UNSET)]
    if not lines:
        return
    pods = [one for one in _read_pods(changes, read_defaults(live.ranges)) if one.is_written]
    for line in lines:
        resource = _ALIASES[line.resource]
        facts = {
            "quota": line.quota,
            "namespace": line.namespace,
            "resource": line.resource,
            "after": line.after,
            "hard": line.hard,
            "fit": line.fit.value,
        }
        for one in pods:
            is_cause = one.lacks(resource) if line.fit is Fit.UNSET else one.grow(resource) > 0
            if one.key[2] == line.namespace and is_cause:
                yield one.key, QUOTA_EXCEEDED.at(facts=facts)
