"""Families `plan-confirmed` and `plan-estimated`: compare a whole plan with what then happened.

For each `kubectl apply` of a story, the plan is made as the product makes it, from the recorded state before it, and
compared object by object with the state after it: once without dry runs, once with each dry run answered by the
recorded answer to the same write. A case is one object of one invocation. Invocations that sent nothing to the server
(`--dry-run=client`, command lines that kubectl refuses) have no recorded truth, so they are not cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from applyviz.conformance.cases import CaseResult
from applyviz.conformance.invocations import read_env, read_files
from applyviz.conformance.planchecks import PlanVerdict, Truth, judge
from applyviz.conformance.recorded import RecordedCluster, RecordedKey, follow_applies, key_of
from applyviz.conformance.stories import NOW, Invocation, Story, StoryExchange, StoryStep, load_story
from applyviz.conformance.truths import Truths, Turn
from applyviz.engine.manifests.documents import ManifestDocument
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.exchange import Answer, Request
from applyviz.engine.objects.known_names import LAST_APPLIED
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONObject, JSONValue, get_at, is_same_json
from applyviz.engine.ownership.client_side import find_managers
from applyviz.engine.planning.model.plan import PlannedObject, PlannedSet, PlanProblem
from applyviz.engine.planning.objects.context import PlanningContext
from applyviz.engine.planning.sets.planner import SetPlanner, drive
from applyviz.engine.planning.simulation.estimated_answers import status_answer
from applyviz.engine.requests.argv import ApplyCommand, parse_apply
from applyviz.engine.requests.flags import UsageError
from applyviz.engine.requests.flow import Catalog
from applyviz.engine.requests.options import SERVER_SIDE_MANAGER, ApplyMode, ApplyOptions, DryRun
from applyviz.engine.schema.model import KindSchema
from applyviz.sandbox.api.estimates import with_estimates
from applyviz.sandbox.storage.routing import parse_path

CONFIRMED = "plan-confirmed"
_INVALID = 422
_DENIED = 'deployments.apps is forbidden: User "reader" cannot patch resource "deployments"'
_PRECONDITIONS = ("uid", "resourceVersion")


def run_file(path: Path, family: str, crds: Mapping[str, JSONObject]) -> Iterator[CaseResult]:
    """Judge every object of every `kubectl apply` of a story."""
    yield from judge_story(load_story(path), family)


def judge_story(story: Story, family: str) -> Iterator[CaseResult]:
    """Judge every object of every `kubectl apply` of a story that was read."""
    for step, invocation, cluster, definitions in follow_applies(story):
        yield from _Scene(story, step, invocation, cluster, definitions.catalog(), family).judge()


def _without_preconditions(body: JSONValue) -> JSONValue:
    if isinstance(body, Mapping) and "propagationPolicy" in body:  # options of a deletion
        return {"propagationPolicy": body["propagationPolicy"]}
    if isinstance(body, list):  # a JSON patch of managedFields
        return [p for p in body if not str(p.get("path", "")).endswith("/resourceVersion")]
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(metadata, Mapping):
        return body
    kept = {k: v for k, v in metadata.items() if k not in _PRECONDITIONS}
    rest = {k: v for k, v in body.items() if k != "metadata"}
    return {**rest, "metadata": kept} if kept else rest


def _is_same_write(request: Request, exchange: StoryExchange) -> bool:
    """Return whether a dry run requests the same write as an exchange.

    - Ignored are the preconditions of our request, and that it forces the parent of an ApplySet at once.
    """
    if (request.method, request.path) != (exchange.method, exchange.path):
        return False
    if request.method != "DELETE" and request.content_type != exchange.content_type:
        return False
    ignored = {"dryRun"} if not request.query.get("fieldManager", "").endswith("-applyset") else {"dryRun", "force"}
    queries = [{k: v for k, v in q.items() if k not in ignored} for q in (request.query, exchange.query)]
    bodies = [_without_preconditions(body) for body in (request.body, exchange.body)]
    return queries[0] == queries[1] and is_same_json(*bodies)


@dataclass
class _Recorded:
    """Answers a planner from the recording, and collects the dry runs that the recording does not contain."""

    cluster: RecordedCluster
    writes: Sequence[StoryExchange]
    can_dry_run: bool
    missing: dict[RecordedKey, Request] = field(default_factory=dict)

    def answer(self, request: Request) -> Answer:
        """Answer one request of the planner."""
        if not request.is_write:
            return self.cluster.answer(request)
        if not self.can_dry_run:
            return status_answer(403, "Forbidden", _DENIED)
        route = parse_path(request.path)
        if route is not None and route.namespace and not self.cluster.has_namespace(route.namespace):
            return status_answer(404, "NotFound", f'namespaces "{route.namespace}" not found')
        same = [e for e in self.writes if _is_same_write(request, e)]
        if same:
            return next((e for e in same if e.query.get("force") == request.query.get("force")), same[0]).answer
        if route is not None and not self._tries_replacement(request):
            self.missing[key_of(route, request.ref.name if request.ref else "")] = request
        return status_answer(403, "Forbidden", _DENIED)

    def _tries_replacement(self, request: Request) -> bool:
        """Return whether a plan asks, after a refusal, if deleting and creating the object would help."""
        refused = [e.path for e in self.writes if e.answer.status == _INVALID]
        own = any(request.path in (path, path.rpartition("/")[0]) for path in refused)
        return own and (request.method == "DELETE" or request.purpose == "try")


class _Scene(Struct, frozen=True):
    """One invocation of kubectl at its time in the story."""

    story: Story
    step: StoryStep
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
        truths = Truths(self.step, self.invocation)
        try:
            plan = self._plan(command, recorded)
        except ApplyVizError as error:
            sent = [e.path for e in writes if e.answer.is_ok]
            reason = f"nothing was planned: {error}" if sent or not self.step.exit else ""
            yield self._result("the set", PlanVerdict(reason, sent))
            return
        keys = [truths.find_key(c, self.catalog.find_resource(c.ref.gvk)) for c in plan.changes]
        for number, (key, change) in enumerate(zip(keys, plan.changes, strict=True)):
            truth = truths.find(key, change, Turn(keys[:number].count(key), keys.count(key)))
            if truth is not None:
                kind = self.catalog.find_kind(change.ref.gvk)
                yield self._result(str(change.ref), _check(change, truth, kind, recorded.missing.get(key)))
        for key in sorted(truths.written - set(keys)):
            yield self._result("/".join(key), _check_unspoken(plan, truths.is_refused(key)))

    def _plan(self, command: ApplyCommand, recorded: _Recorded) -> PlannedSet:
        inputs, files = read_files(command, self.invocation)
        documents = [d for f in files for d in f.documents]
        options = replace(command.options, dry_run=DryRun.NONE, takes_client_side=False)
        options = replace(options, has_preconditions=not self._changes_sides(options, documents))
        problems = [PlanProblem(p) for p in inputs.problems]
        problems += [PlanProblem(p.reason, p.position) for f in files for p in f.problems]
        context = with_estimates(PlanningContext(self.catalog, NOW, deletion=command.deletion))
        planner = SetPlanner(documents, options=options, context=context, problems=problems)
        for _ in drive(planner, lambda requests: [recorded.answer(r) for r in requests]):
            pass
        return planner.plan()

    def _changes_sides(self, options: ApplyOptions, documents: Sequence[ManifestDocument]) -> bool:
        """Return whether a server-side apply meets fields or a record that client-side apply wrote.

        - There kubectl moves ownership after the apply and the product before it, so the recording can only judge
          kubectl's own flow. `tests/controlplane` judges the product's flow with a real server.
        """
        if options.mode is not ApplyMode.SERVER:
            return False
        for document in documents:
            if options.field_manager == SERVER_SIDE_MANAGER and _has_annotation(document.obj):
                return True
            resource, ref = self.catalog.find_resource(document.ref.gvk), document.ref
            if resource is None:
                continue
            namespace = (ref.namespace or options.namespace) if resource.is_namespaced else ""
            route = parse_path(resource.path(namespace, ref.name))
            live = self.cluster.find(route) if route is not None else None
            if live is not None and _is_client_side(live, options.field_manager):
                return True
        return False

    def _result(self, what: str, verdict: PlanVerdict) -> CaseResult:
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


def _is_client_side(live: JSONObject, manager: str) -> bool:
    """Return whether client-side apply wrote an object, by kubectl's rule or by the product's for this manager."""
    return _has_annotation(live) or (manager == SERVER_SIDE_MANAGER and bool(find_managers(live, manager=manager)))


def _has_annotation(obj: JSONObject) -> bool:
    return LAST_APPLIED in (get_at(obj, ("metadata", "annotations")) or {})


def _check(change: PlannedObject, truth: Truth, kind: KindSchema | None, missing: Request | None) -> PlanVerdict:
    if missing is not None:
        return PlanVerdict("the plan would send what kubectl did not", got=missing.body)
    has_status = kind is not None and kind.has_status
    return judge(change, truth, root=kind.root if kind else None, status_is_apart=has_status)


def _check_unspoken(plan: PlannedSet, is_refused: bool) -> PlanVerdict:
    """Check a write without a planned change: a problem of the set must explain it, and the server must refuse it."""
    reason = "" if is_refused and plan.problems else "the plan does not speak of it"
    return PlanVerdict(reason, expected=[p.reason for p in plan.problems])
