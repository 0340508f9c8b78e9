"""Families `plan-confirmed` and `plan-estimated`: does a whole plan say what then happened?

For each `kubectl apply` of a story, the plan is made as the product makes it, from the state that the recording shows
before it, and compared object by object with the state after it: once with dry runs denied, once with each answered
by the recorded answer to the same write. A case is one object of one invocation. Only what was never sent to the
server (`--dry-run=client`, command lines that kubectl refuses) has no recorded truth, and is no case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.invocations import Definitions, read_env, read_files
from applyviz.conformance.planchecks import Truth, Verdict, judge
from applyviz.conformance.recorded import Key, RecordedCluster, find_moment, key_of
from applyviz.conformance.stories import Exchange, Invocation, Step, Story, load_story
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.values import JSONObject, JSONValue, is_same_json
from applyviz.engine.planning.context import PlanContext
from applyviz.engine.planning.plan import ObjectChange, Plan, Problem
from applyviz.engine.planning.rehearsal import status_answer
from applyviz.engine.planning.sets import SetPlanner, drive
from applyviz.engine.requests.argv import ApplyCommand, is_apply, parse_apply
from applyviz.engine.requests.flags import UsageError
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.options import DryRun
from applyviz.engine.schema.model import KindSchema
from applyviz.sandbox.estimates import EstimatingServer
from applyviz.sandbox.routing import parse_path

CONFIRMED, ESTIMATED = "plan-confirmed", "plan-estimated"
FAMILIES = (CONFIRMED, ESTIMATED)
_NOW = "2026-06-01T00:00:00Z"
_DENIED = 'deployments.apps is forbidden: User "reader" cannot patch resource "deployments"'
_PRECONDITIONS = ("uid", "resourceVersion")


def run_file(path: Path, family: str, crds: Mapping[str, JSONObject]) -> Iterator[CaseResult]:
    """Judge every object of every `kubectl apply` of a story."""
    yield from judge_story(load_story(path), family)


def judge_story(story: Story, family: str) -> Iterator[CaseResult]:
    """Judge every object of every `kubectl apply` of a story that was read."""
    cluster, definitions = RecordedCluster.of(story), Definitions()
    for step in story.steps:
        for invocation in step.invocations:
            moment = find_moment(cluster.ahead, invocation.exchanges)
            if moment is not None:
                cluster.follow_until(moment)
            definitions.forget_gone()
            if is_apply(invocation.argv):
                scene = _Scene(story, step, invocation, cluster, definitions.catalog(), family)
                yield from scene.judge()
            definitions.follow(invocation.exchanges)
        definitions.follow([e for e in step.exchanges if e.invocation is None])


def _without_preconditions(body: JSONValue) -> JSONValue:
    if isinstance(body, list):  # a JSON patch of managedFields
        return [p for p in body if not str(p.get("path", "")).endswith("/resourceVersion")]
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(metadata, Mapping):
        return body
    kept = {k: v for k, v in metadata.items() if k not in _PRECONDITIONS}
    rest = {k: v for k, v in body.items() if k != "metadata"}
    return {**rest, "metadata": kept} if kept else rest


def _is_same_write(request: Request, exchange: Exchange) -> bool:
    """Whether a dry run asks for what an exchange did; what binds ours to the live object does not count."""
    if (request.method, request.path, request.content_type) != (exchange.method, exchange.path, exchange.content_type):
        return False
    queries = [{k: v for k, v in q.items() if k != "dryRun"} for q in (request.query, exchange.query)]
    bodies = [_without_preconditions(body) for body in (request.body, exchange.body)]
    return queries[0] == queries[1] and is_same_json(*bodies)


@dataclass
class _Recorded:
    """Answers a planner from the recording, and keeps the dry runs that the recording does not hold."""

    cluster: RecordedCluster
    writes: Sequence[Exchange]
    can_dry_run: bool
    missing: dict[Key, Request] = field(default_factory=dict)

    def answer(self, request: Request) -> Answer:
        """Answer one request of the planner."""
        if not request.is_write:
            return self.cluster.answer(request)
        if not self.can_dry_run:
            return status_answer(403, "Forbidden", _DENIED)
        route = parse_path(request.path)
        if route is not None and route.namespace and not self.cluster.has_namespace(route.namespace):
            return status_answer(404, "NotFound", f'namespaces "{route.namespace}" not found')
        for exchange in self.writes:
            if _is_same_write(request, exchange):
                return exchange.answer
        if route is not None:
            self.missing[key_of(route, request.ref.name if request.ref else "")] = request
        return status_answer(403, "Forbidden", _DENIED)


@dataclass(frozen=True, slots=True)
class _Scene:
    """One invocation of kubectl at its moment."""

    story: Story
    step: Step
    invocation: Invocation
    cluster: RecordedCluster
    catalog: Catalog
    family: str

    @property
    def _name(self) -> str:
        return f"{self.story.name} step {self.step.number} invocation {self.invocation.number}"

    def judge(self) -> Iterator[CaseResult]:
        try:
            command = parse_apply(self.invocation.argv, read_env(self.story, self.step), namespace=self.story.namespace)
        except UsageError:
            return
        if command.options.dry_run is DryRun.CLIENT:
            return
        try:
            yield from self._judge(command)
        except Exception as error:
            # A case that fails is a disagreement, never a crash of the report.
            yield CaseResult(self.family, self._name, False, f"{type(error).__name__}: {error}")

    def _judge(self, command: ApplyCommand) -> Iterator[CaseResult]:
        writes = [e for e in self.invocation.exchanges if e.is_write]
        recorded = _Recorded(self.cluster, writes, self.family == CONFIRMED)
        plan = self._plan(command, recorded)
        truths = _Truths(self.cluster, self.step, self.invocation, is_dry=command.options.dry_run is DryRun.SERVER)
        judged: set[Key] = set()
        for change in plan.changes:
            resource = self.catalog.find_resource(change.ref.gvk)
            kind = self.catalog.find_kind(change.ref.gvk)
            key = truths.find_key(change, resource.plural if resource else "")
            judged.add(key)
            truth = truths.take(key, change)
            if truth is not None:
                verdict = _check(change, truth, kind, recorded.missing.get(key))
                yield self._result(str(change.ref), verdict)
        for key in truths.written - judged:
            reason = "the plan does not speak of it"
            yield self._result("/".join(key), Verdict(reason, expected=[p.reason for p in plan.problems]))

    def _plan(self, command: ApplyCommand, recorded: _Recorded) -> Plan:
        inputs, files = read_files(command, self.invocation)
        options = replace(command.options, has_preconditions=True, dry_run=DryRun.NONE)
        problems = [Problem(p) for p in inputs.problems]
        problems += [Problem(p.reason, p.position) for f in files for p in f.problems]
        context = PlanContext(self.catalog, _NOW, server=EstimatingServer(), deletion=command.deletion)
        documents = [d for f in files for d in f.documents]
        planner = SetPlanner(documents, options=options, context=context, problems=problems)
        for _ in drive(planner, lambda requests: [recorded.answer(r) for r in requests]):
            pass
        return planner.plan()

    def _result(self, what: str, verdict: Verdict) -> CaseResult:
        return CaseResult(
            self.family,
            f"{self._name} {what}",
            not verdict.reason,
            verdict.reason,
            verdict.expected,
            verdict.got,
            verdict.fields,
            verdict.caveats,
        )


def _check(change: ObjectChange, truth: Truth, kind: KindSchema | None, missing: Request | None) -> Verdict:
    if missing is not None:
        return Verdict("the plan would send what kubectl did not", got=missing.body)
    has_status = kind is not None and kind.has_status
    return judge(change, truth, root=kind.root if kind else None, status_is_apart=has_status)


class _Truths:
    """What became of each object of an invocation."""

    def __init__(self, cluster: RecordedCluster, step: Step, invocation: Invocation, *, is_dry: bool) -> None:
        self._cluster = cluster
        self._step = step
        self._is_dry = is_dry
        self._writes: dict[Key, list[Exchange]] = {}
        self._routes: dict[Key, str] = {}
        for exchange in invocation.exchanges:
            route = parse_path(exchange.path)
            if route is None:
                continue
            body = exchange.body if isinstance(exchange.body, Mapping) else {}
            key = key_of(route, (body.get("metadata") or {}).get("name", "") if not route.name else "")
            self._routes.setdefault(key, exchange.path)
            if exchange.is_write:
                self._writes.setdefault(key, []).append(exchange)

    @property
    def written(self) -> set[Key]:
        """The objects that were written to."""
        return set(self._writes)

    def find_key(self, change: ObjectChange, plural: str) -> Key:
        """Return the key of a planned object."""
        ref = change.ref
        if not plural:
            plural = next((k.plural for k in self._writes if (k.group, k.name) == (ref.gvk.group, ref.name)), "")
        return Key(ref.gvk.group, plural, ref.namespace, ref.name)

    def take(self, key: Key, change: ObjectChange) -> Truth | None:
        """Return what became of an object; None when the recording does not tell.

        - An object that is planned twice (the parent of an ApplySet) has one write each time.
        """
        writes = self._writes.get(key, [])
        before = change.versions.live
        if not writes:
            return self._take_unwritten(key, change)
        ok = [e for e in writes if e.answer.is_ok]
        if not ok:
            return Truth(before, before, refusal=writes[-1].answer)
        deletes = [e for e in ok if e.method == "DELETE"]
        if deletes and ok[-1].method == "DELETE":
            return Truth(before, None, is_deleted=True)
        body = ok[-1].answer.body
        return Truth(before, body, is_recreated=bool(deletes))

    def _take_unwritten(self, key: Key, change: ObjectChange) -> Truth | None:
        live = change.versions.live
        line = f"{change.ref.name} unchanged"
        if line in self._step.stdout:
            return Truth(live, live)
        return None
