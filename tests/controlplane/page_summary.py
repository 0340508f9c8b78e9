"""Judge the statements about a plan as a whole: counts, impact, pods, requests and limits, risks."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

from django.test.html import Element

from applyviz.conformance.object_facts import gains_owner
from applyviz.engine.objects.lookups import ABSENT
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue, get_at, is_same_json
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.model.resources import sum_resources
from applyviz.engine.risks.model import Risk
from applyviz.web.components.phrases import describe_risk
from applyviz.web.reviews.pages.plan_summary import present_impact
from applyviz.web.reviews.pages.resource_sums import present_sum
from tests.controlplane.page_facts import LAST_APPLIED
from tests.controlplane.page_traffic import TRAFFIC
from tests.controlplane.pages import ROLLED, TEMPLATE, Pages, Told, find_class, show_fact
from tests.controlplane.takeover import JSONObject
from tests.web import reading

_RBAC = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
_WORDS = {Operation.PRUNE: "delete"}
Claim = Callable[[Told, Risk], bool]


def _check_kind(*kinds: str) -> Claim:
    return lambda told, risk: told.change.ref.gvk.kind in kinds


def _is_kept(told: Told, risk: Risk) -> bool:
    fact = told.fact(risk.path)
    if risk.facts.get("is_null") == "below":
        entries = get_at(told.after, ("metadata", "managedFields"), ())
        names = {e["manager"] for e in entries if get_at(e["fieldsV1"], risk.path) is not None}
        return fact.is_there and {name.partition(" (")[0] for name in risk.facts["owners"].split(", ")} <= names
    return fact.is_there and all(fact.owns(name.partition(" (")[0]) for name in risk.facts["owners"].split(", "))


def _is_sent_again(told: Told, risk: Risk) -> bool:
    """Whether the object, as it is after the apply, still differs from what the manifest says, or is sent whole."""
    fact, cause = told.fact(risk.path), risk.facts["cause"]
    if cause == "it holds a directive of a patch":
        return '"$' in json.dumps(fact.wanted)
    is_whole = cause == "kubectl always sends it whole"
    return fact.wanted is not ABSENT and (is_whole or not fact.is_there or not is_same_json(fact.wanted, fact.after))


def _count_twins(told: Told, risk: Risk) -> int:
    """How many entries of a list of the manifest have the values that the risk names as `port=53, …`."""
    keys = [pair.partition("=") for pair in risk.facts["keys"].split(", ")]
    entries = told.fact(risk.path).wanted
    return sum(all(str(one.get(name)) == value for name, _is, value in keys) for one in entries)


def _is_null_again(told: Told, risk: Risk) -> bool:
    """Whether the object has a value where the manifest has null."""
    fact = told.fact(risk.path)
    was = "same" if fact.is_same else "other" if fact.was else "absent"
    return fact.wanted is None and fact.is_there and risk.facts["live"] == was


def _is_read_so(told: Told, risk: Risk) -> bool:
    """Whether the object holds what the risk says that the text is read as, and not the text itself.

    - Of a Secret neither is named: then the manifest has the field.
    """
    fact, text, value = told.fact(risk.path), risk.facts["text"], risk.facts["value"]
    if not text:
        return told.change.ref.gvk.kind == "Secret" and fact.wanted is not ABSENT
    if risk.facts["role"] == "key":
        written = told.fact((*risk.path[:-1], f"f:{text}"))
        return risk.path[-1] == f"f:{value}" and fact.is_there and not written.is_there
    if risk.facts["what"] == "date":
        return isinstance(fact.after, str) and fact.after[:60] == text
    if risk.facts["what"] == "null":
        return fact.after in (ABSENT, None)
    if isinstance(fact.after, str):  # an amount, which the server keeps as a text
        return isinstance(fact.wanted, int | float) and fact.after == value != text
    read = fact.after if isinstance(fact.after, bool | int | float) else ABSENT
    return read is not ABSENT and json.dumps(read)[:60] == value and text != value


def _is_reordered(told: Told, risk: Risk) -> bool:
    fact = told.fact(risk.path)
    lists = [sorted(json.dumps(one, sort_keys=True) for one in found) for found in (fact.before, fact.after)]
    return lists[0] == lists[1] and not fact.is_same


def _keeps_pods(told: Told, risk: Risk) -> bool:
    return get_at(told.before, TEMPLATE) != get_at(told.after, TEMPLATE) and not told.restarts


def _moves_as_told(told: Told, risk: Risk) -> bool:
    """Whether a count that the manifest sets is that of the manifest, and any other moved to the one that was named."""
    fact = told.fact(risk.path)
    if "reset" not in risk.facts:
        return fact.is_wanted
    after = str(fact.after) if fact.is_there else "unset"
    is_null = fact.wanted is None
    return (str(fact.before), after, is_null) == (risk.facts["live"], risk.facts["reset"], bool(risk.facts["is_null"]))


def _is_changed(told: Told, risk: Risk) -> bool:
    return told.before is None or told.operation is not Operation.UNCHANGED


def _is_way(named: str | None, after: object) -> bool:
    """Whether a Service is open as a risk says: by its type, or at the addresses of a list."""
    return named in (None, after) or (isinstance(after, list) and set(re.split(", | and ", named)) <= set(after))


def _is_leaving(obj: JSONObject | None, risk: Risk) -> bool:
    """Whether an object is still being deleted, for the finalizers that a risk names; without any it may be gone."""
    metadata = get_at(obj, ("metadata",), {})
    names = risk.facts.get("finalizers", "")
    return ", ".join(metadata.get("finalizers", ())) == names and (obj is None or "deletionTimestamp" in metadata)


def _is_same(told: Told) -> bool:
    return get_at(told.before, ("metadata", "uid")) == get_at(told.after, ("metadata", "uid"))


CLAIMS: Mapping[str, Claim] = {
    "cluster-scoped": lambda told, risk: not told.change.ref.namespace,
    "rbac": _check_kind(*_RBAC),
    "crd": _check_kind("CustomResourceDefinition"),
    "api-service": _check_kind("APIService"),
    "namespace": _check_kind("Namespace"),
    "webhook": _check_kind(
        *("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    ),
    # The server warns of a version that it will not serve for ever.
    "deprecated-version": lambda told, risk: any(
        "is deprecated" in text and risk.facts["instead"] in text for text in told.change.warnings
    ),
    "kube-system": lambda told, risk: told.change.ref.namespace.startswith("kube-"),
    "dependents": lambda told, risk: told.is_new,
    "pods-restart": lambda told, risk: told.restarts,
    "template-waits": _keeps_pods,
    # A write does not end the deletion; a deletion and a replacement wait for its end.
    "terminating": lambda told, risk: (
        bool(get_at(told.before, ("metadata", "deletionTimestamp")))
        and (_is_leaving(told.after, risk) if risk.facts["how"] == "apply" else not _is_same(told))
    ),
    "job-pods-deleted": lambda told, risk: not told.is_new and not told.fact(risk.path).is_same,
    "pods-renumbered": lambda told, risk: not told.is_new and not told.fact(risk.path).is_same,
    "container-restarts": lambda told, risk: not told.is_new and not told.fact(risk.path).is_same,
    "autoscaled-field": _moves_as_told,
    "null-defaults-again": _is_null_again,
    "retyped-value": _is_read_so,
    "order-churn": _is_reordered,
    "removal-will-not-happen": _is_kept,
    "removal-without-effect": lambda told, risk: (
        told.fact(risk.path).is_there
        if risk.facts["how"] in ("address", "alias", "version")
        else risk.facts["entry"] in get_at(told.after, ("data",), {})
    ),
    "address-lost": lambda told, risk: told.fact(risk.path).was and not told.fact(risk.path).is_same,
    "status-ignored": lambda told, risk: (
        get_at(told.change.versions.manifest, ("status",)) != get_at(told.after, ("status",))
    ),
    "record-ignored": lambda told, risk: (
        get_at(told.change.versions.manifest, ("metadata", "annotations", LAST_APPLIED))
        != get_at(told.after, ("metadata", "annotations", LAST_APPLIED), "")
    ),
    # Each manager loses a field that the request sets.
    "force": lambda told, risk: (
        bool(risk.facts["owners"]) and all(told.owns_less(name) for name in risk.facts["owners"].split(", "))
    ),
    "atomic-list-replaced": lambda told, risk: told.fact(risk.path).was and not told.fact(risk.path).is_same,
    "exposed": lambda told, one: _is_changed(told, one) and _is_way(one.facts.get("how"), told.fact(one.path).after),
    **TRAFFIC,
    "injected-value": lambda told, risk: told.fact(risk.path).is_wanted,
    # The server refuses the object, so a run that applied it disproves it.
    "invalid-entry": lambda told, risk: False,
    "prune": lambda told, risk: told.after is None,
    # The run waited until they were removed.
    "finalizers": lambda told, risk: told.after is None or told.is_new,
    "replace": lambda told, risk: get_at(told.before, ("metadata", "uid")) != get_at(told.after, ("metadata", "uid")),
    "secret-content": lambda told, risk: told.change.ref.gvk.kind == "Secret" and _is_changed(told, risk),
    "no-last-applied": lambda told, risk: LAST_APPLIED not in get_at(told.before, ("metadata", "annotations"), {}),
    "belongs-to-other": lambda told, risk: told.fact(risk.path).is_there or told.fact(risk.path).was,
    "gains-owner": lambda told, risk: gains_owner(told.before, told.after),
    "ends-objects": lambda told, risk: told.fact(risk.path).is_there or told.fact(risk.path).was,
    "helm-hook": lambda told, risk: told.fact(risk.path).is_there,
    "duplicate-merge-key": lambda told, risk: _count_twins(told, risk) > 1,
    "shared-merge-key": lambda told, risk: told.fact(risk.path).was and not told.fact(risk.path).is_there,
    "repeating-patch": _is_sent_again,
    # Another unknown field the server refuses; a directive it never gets, and last-applied keeps it.
    "unknown-field": lambda told, risk: (
        not told.fact(risk.path).is_there
        and json.dumps(risk.facts["field"]) in get_at(told.after, ("metadata", "annotations"), {}).get(LAST_APPLIED, "")
    ),
    # The server refuses the change, so a run that applied the object disproves it.
    "immutable-field": lambda told, risk: False,
    "admission-changed": lambda told, risk: told.fact(risk.path).is_wanted,
}
"""The claim about an object that each kind of risk makes; a kind without a claim fails."""


_FOLDED = r"and \d+ more (fields?|lines? in the diff)|✓ acknowledged by .*"
"""Text of the risks page that is not the sentence of a risk: folded lines, acknowledgments."""


def judge_risks(pages: Pages, all_told: list[Told]) -> None:
    """Each risk comes true, each real restart is one, and the page prints these sentences and no others."""
    planned = set()
    for told in all_told:
        for risk in told.change.risks:
            planned.add("".join(describe_risk(risk).replace("`", "").split()))
            claim = CLAIMS.get(risk.kind.slug)
            is_true = claim is not None and claim(told, risk)
            if risk.kind.slug == "dangling-reference":
                kind, _slash, name = risk.facts["target"].partition("/")
                is_true = not pages.exists(kind, name, told.change.ref.namespace)
            if risk.kind.slug == "matches-nothing":
                is_true = not pages.has_pods(risk.facts["selector"], told.change.ref.namespace)
            text = f"{describe_risk(risk)} {show_fact(told.fact(risk.path)) if risk.path else ''}"
            pages.expect(text, is_true=is_true, where=told.name, kind=f"risk {risk.kind.slug}")
        if told.restarts:
            is_said = any(risk.kind.slug == "pods-restart" for risk in told.change.risks)
            pages.expect("restart", is_true=is_said, where=told.name, kind="restart without a risk")
    page = pages.read(pages.address("show-risks"))
    for entry in find_class(page, "risk-entry"):
        for text in (reading.text_of(e) for e, _above in reading.walk(entry) if e.name == "p"):
            plain = "".join(text.replace("`", "").split())
            is_title = any(plain.endswith("".join(told.name.split())) for told in all_told)
            is_known = plain in planned or is_title or re.fullmatch(_FOLDED, text)
            is_known = is_known or any(one.endswith(plain) for one in planned) or text == "Large change"
            large = re.fullmatch(r"(\d+) objects change in one run; the policy limit for a large change is \d+\.", text)
            if large:
                is_known = int(large[1]) == sum(told.operation is not Operation.UNCHANGED for told in all_told)
            pages.expect(text, is_true=bool(is_known), kind="text of the risks")


def _images(obj: JSONObject | None) -> set[tuple[str, str]]:
    found = set()
    for above in ((), TEMPLATE, ("spec", "jobTemplate", "spec", "template")):
        spec = get_at(obj, (*above, "spec"), {})
        found |= {(c["name"], c["image"]) for key in ("containers", "initContainers") for c in spec.get(key, ())}
    return found


def _count_images(all_told: list[Told]) -> int:
    both = [(dict(_images(t.before)), dict(_images(t.after))) for t in all_told if t.before and t.after]
    return sum(1 for old, new in both for name in old.keys() & new.keys() if old[name] != new[name])


def _lost_owner(all_told: list[Told], name: str, operation: str = "") -> int:
    def has(obj: JSONObject | None) -> bool:
        entries = (obj or {}).get("metadata", {}).get("managedFields", ())
        own = [e for e in entries if e["manager"] == name and not e.get("subresource")]
        return any(operation in ("", e["operation"]) for e in own)

    return sum(1 for told in all_told if has(told.before) and not has(told.after))


def _count_of(amount: JSONValue, pods: int, *, is_rounded_up: bool) -> int:
    if isinstance(amount, int):
        return amount
    share = pods * int(str(amount).removesuffix("%")) / 100
    return math.ceil(share) if is_rounded_up else math.floor(share)


def _stops_all(told: Told) -> bool:
    """Return whether no pod runs during the update: all of a Recreate, or as many as a rolling update may stop first.

    A Deployment may stop one where its two amounts come to zero; what has an `updateStrategy` stops one before it
    starts the next.
    """
    if "updateStrategy" in (told.before or {}).get("spec", {}):
        return told.pods == 1
    strategy = get_at(told.after, ("spec", "strategy"), {})  # the controller acts by the new one
    amounts = strategy.get("rollingUpdate") or {}
    surge = _count_of(amounts.get("maxSurge", "25%"), told.pods, is_rounded_up=True)
    stopped = _count_of(amounts.get("maxUnavailable", "25%"), told.pods, is_rounded_up=False)
    return strategy.get("type") == "Recreate" or (stopped or int(not surge)) >= told.pods


def _has_record(obj: JSONValue) -> bool:
    return LAST_APPLIED in get_at(obj, ("metadata", "annotations"), {})


def _is_owned(obj: JSONValue) -> bool:
    return bool(get_at(obj, ("metadata", "managedFields")))


def judge_line(pages: Pages, line: str, all_told: list[Told]) -> None:
    """One line of the impact."""
    new, restarted = ([told for told in all_told if told.restarts and told.is_new is one] for one in (True, False))
    checks: dict[str, Callable[[re.Match[str]], bool]] = {
        r"Field ownership of (\d+) objects? migrates from (.+) first, which changes no values": lambda m: (
            int(m[1]) == max(_lost_owner(all_told, name) for name in m[2].split(", "))
        ),
        r"(\d+) objects? ha(?:s|ve) no field owners: .+ fields get one first, which changes no values": lambda m: (
            int(m[1]) == sum(not _is_owned(told.before) and _is_owned(told.after) for told in all_told)
        ),
        r"The last-applied annotation of (\d+) objects? is removed: a later client-side apply keeps what it drops": (
            lambda m: int(m[1]) == sum(_has_record(told.before) and not _has_record(told.after) for told in all_told)
        ),
        r"Field ownership of (\d+) objects? moves back from server-side apply by (.+)": lambda m: (
            int(m[1]) == max(_lost_owner(all_told, name, "Apply") for name in m[2].split(", "))
        ),
        r"(\d+) pods? restarts?: .+": lambda m: int(m[1]) == sum(told.pods for told in restarted),
        r"All pods of (.+) restart": lambda m: any(told.pods == 0 for told in restarted),
        r"(\d+) pods? stops? with the replaced workloads?, which starts? new ones: .+": lambda m: (
            int(m[1]) == sum(told.pods for told in new)
        ),
        r"All pods stop with the replaced workloads?, .+": lambda m: any(told.pods == 0 for told in new),
        r"Scaled to 0: (.+)": lambda m: all(
            get_at(told.before, ("spec", "replicas"), 1) > 0 and get_at(told.after, ("spec", "replicas")) == 0
            for told in all_told
            if told.name in m[1].split(", ")
        ),
        r"No pods restart": lambda m: not restarted and not new,
        r"Downtime: (.+)": lambda m: all(_stops_all(told) for told in restarted if told.name in m[1].split(", ")),
        r"(\d+) images? changes?": lambda m: int(m[1]) == _count_images(all_told),
    }
    found = next(((m, check) for p, check in checks.items() if (m := re.fullmatch(p, line))), None)
    is_true = found is not None and found[1](found[0])
    pages.expect(line, is_true=is_true, kind="line of the impact" if found else "unknown line of the impact")


def _cells(section: Element) -> list[list[str]]:
    bodies = [e for e, _above in reading.walk(section) if e.name == "tbody"]
    rows = [e for body in bodies for e, _above in reading.walk(body) if e.name == "tr"]
    return [[reading.text_of(c) for c in row.children if isinstance(c, Element)] for row in rows]


def judge_summary(pages: Pages, all_told: list[Told]) -> None:
    """Strip and Overview: counts, impact, pods that restart, requests and limits."""
    page = pages.read(pages.address("show-overview"))
    wanted = Counter(_WORDS.get(told.operation, told.operation.value) for told in all_told)
    (strip,) = (e for e, _above in reading.walk(page) if reading.attribute(e, "id") == "strip")
    (counts,) = find_class(strip, "counts")
    said = {}
    for item in reading.find_all(counts, "li"):
        found = re.fullmatch(r"\D*(\d+) (.+)", reading.text_of(item))
        said[found[2] if found else reading.text_of(item)] = int(found[1]) if found else -1
    pages.expect(f"counts of the strip: said {said}, really {dict(wanted)}", is_true=said == dict(wanted))
    (impact,) = find_class(strip, "impact")
    texts = [reading.text_of(e) for e in reading.find_all(impact, "p")]
    lines = texts[0].split(" · ") if texts else []
    if lines and re.fullmatch(r"\d+ more", lines[-1]):
        real = f"{len(present_impact(pages.plan)) - len(lines) + 1} more"
        pages.expect(f"lines that are left out: {lines[-1]}, really {real}", is_true=lines.pop() == real)
    for line in lines:
        judge_line(pages, line, all_told)
    (pods,) = find_class(page, "pods")
    for item in reading.find_all(pods, "li"):
        judge_line(pages, reading.text_of(item), all_told)
    _judge_pods(pages, _cells(pods), all_told)
    for section in find_class(page, "resources"):
        _judge_resources(pages, _cells(section), all_told)


def _judge_pods(pages: Pages, rows: list[list[str]], all_told: list[Told]) -> None:
    real = {told.change.ref.name: told for told in all_told if told.restarts}
    listed = {row[0] for row in rows}
    rest = next((int(row[0].split(" ")[0]) for row in rows if re.fullmatch(r"\d+ more", row[0])), 0)
    for name, _drawn, pods, _note in rows:
        if name in real:
            count = real[name].pods
            pages.expect(f"{name} {pods}", is_true=pods in (str(count), "all"), kind="pods that restart")
        else:
            pages.expect(f"{name} restarts", is_true=name.endswith(" more"), kind="pods that restart")
    pages.expect(
        f"workloads that restart: {sorted(listed)}, really {sorted(real)}",
        is_true=len(real) == len(listed & set(real)) + rest,
    )
    lived = [told for told in all_told if told.before is not None and not told.is_new]
    revised = [told for told in lived if told.change.ref.gvk.kind == "Deployment"]
    for told in revised:
        path = ("metadata", "annotations", "deployment.kubernetes.io/revision")
        moved = get_at(told.before, path) != get_at(told.after, path)
        is_rolled = told.restarts or (not told.pods and get_at(told.before, TEMPLATE) != get_at(told.after, TEMPLATE))
        pages.expect("revision of the controller", is_true=moved == is_rolled, where=told.name)


def _judge_resources(pages: Pages, rows: list[list[str]], all_told: list[Told]) -> None:
    lived = [
        replace(t.change, versions=replace(t.change.versions, live=t.before, after=t.after))
        for t in all_told
        if t.change.ref.gvk.kind in (*ROLLED, "ReplicaSet", "ReplicationController", "Pod")
    ]
    sums = map(present_sum, sum_resources(lived))
    real = [[r.namespace, str(r.word), r.before, r.after] for r in sums]
    for row in rows:
        pages.expect(" ".join(row), is_true=row in real, kind="requests and limits")
    pages.expect(f"sums of requests and limits: {len(rows)} of {len(real)}", is_true=len(rows) == len(real))
