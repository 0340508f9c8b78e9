"""The questions of pages, one function each: answered in this process or by a worker with the same result."""

from __future__ import annotations

from collections.abc import Sequence

from applyviz.engine.objects.accessors import as_mapping, as_number, as_text
from applyviz.engine.objects.errors import ApplyVizError
from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject, JSONValue
from applyviz.engine.planning.digest.comparison import ObjectMove
from applyviz.engine.planning.digest.serialize import from_json, options_to_json
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.models import ApplyRun, Cluster, Plan
from applyviz.records.sealing import can_open
from applyviz.records.worker_enums import WorkerRequestKind
from applyviz.workflow.clusters.cluster_access import ClusterState
from applyviz.workflow.clusters.lifecycle import ConnectionCheck
from applyviz.workflow.foundation import worker_questions
from applyviz.workflow.foundation.access import Person
from applyviz.workflow.foundation.errors import WorkflowError
from applyviz.workflow.foundation.worker_questions import WAIT_SECONDS, RefusedError, WorkerQuestion
from applyviz.workflow.live import field_details
from applyviz.workflow.live.adoption import Adoption
from applyviz.workflow.live.applysets import ClusterSets
from applyviz.workflow.live.field_details import FieldFacts
from applyviz.workflow.live.inventory import Holdings, Inventory
from applyviz.workflow.live.run_health import RunHealth
from applyviz.workflow.plans import comparisons, revert
from applyviz.workflow.plans.comparisons import Differing
from applyviz.workflow.worker_requests import handlers


def _answer_here(question: WorkerQuestion) -> JSONValue:
    try:
        return handlers.prepare(
            question.kind, handlers.Asked(question.by, question.cluster, question.content, question.secret)
        )()
    except WorkflowError:
        raise
    except ApplyVizError as error:
        raise RefusedError.of(error) from error


def _ask(question: WorkerQuestion, *, after: int = 0) -> JSONValue:
    """Return the answer to a question without side effects; in this process where it can decrypt.

    - Raises `WaitingError` when it takes longer than a moment, `UnansweredError`, or the refusal of the use case.
    """
    return _answer_here(question) if can_open() else worker_questions.ask_worker(question, after=after)


def _send(question: WorkerQuestion, *, seconds: float = WAIT_SECONDS) -> JSONValue:
    """Return the answer to a question with side effects, sent every time; waits so long. Raises as `ask` does."""
    if can_open():
        return _answer_here(question)
    sent = worker_questions.store_question(question)
    return worker_questions.read_answer(worker_questions.wait(sent, seconds))


def _peek(question: WorkerQuestion) -> JSONValue | None:
    """Return the answer if it exists; else ask a worker and wait only briefly."""
    return _answer_here(question) if can_open() else worker_questions.peek(question)


def read_inventory(cluster: Cluster, *, by: Person, after: int = 0) -> Inventory:
    """Return the live objects of a cluster; `after`: a worker request whose answer the person has seen."""
    return from_json(Inventory, _ask(WorkerQuestion(WorkerRequestKind.INVENTORY, by, cluster), after=after))


def read_holdings(cluster: Cluster, manager: str, *, by: Person, after: int = 0) -> Holdings:
    """Return all fields that one field manager owns in a cluster."""
    question = WorkerQuestion(WorkerRequestKind.HOLDINGS, by, cluster, {"manager": manager})
    return from_json(Holdings, _ask(question, after=after))


def read_applysets(cluster: Cluster, *, by: Person, after: int = 0) -> ClusterSets:
    """Return the ApplySets of a cluster and their members."""
    question = WorkerQuestion(WorkerRequestKind.APPLYSETS, by, cluster)
    return from_json(ClusterSets, _ask(question, after=after))


def read_state(cluster: Cluster, *, by: Person, after: int = 0) -> ClusterState:
    """Return the state of a cluster and a person's permissions there."""
    return from_json(ClusterState, _ask(WorkerQuestion(WorkerRequestKind.STATE, by, cluster), after=after))


def find_facts(plan: Plan, gvk: GroupVersionKind, path: FieldPath, *, by: Person, after: int = 0) -> FieldFacts | None:
    """Return the schema of a field; asks a worker where only the cluster knows the kind."""
    kind = field_details.find_known_kind(plan, gvk)
    if kind is not None:
        return field_details.facts_at(kind, path)
    question = WorkerQuestion(
        WorkerRequestKind.SCHEMA, by, plan.target.cluster, {"plan": plan.pk, "gvk": list(gvk), "path": list(path)}
    )
    found = _ask(question, after=after)
    return None if found is None else from_json(FieldFacts, found)


def compare_objects(
    first: Plan, second: Plan, differing: tuple[Differing, ...], *, is_waited_for: bool, after: int = 0
) -> list[ObjectMove | None]:
    """Return what changed for each of these objects; None where a worker has not answered or nothing may be shown.

    - Objects without masked values are compared here; the others by a worker, once for both plans.
    - `is_waited_for`: raise `WaitingError` instead of leaving such objects out.
    """
    secret = [one for one in differing if comparisons.holds_secrets(one)]
    answered: JSONObject = {}
    if secret:
        question = WorkerQuestion(WorkerRequestKind.COMPARE, content={"first": first.pk, "second": second.pk})
        answered = as_mapping(_ask(question, after=after) if is_waited_for else _peek(question))
    return [
        comparisons.read_move(answered.get(comparisons.name_of(one)))
        if one in secret
        else comparisons.compare_masked(one)
        for one in differing
    ]


def read_adoption(cluster: Cluster, *, of: JSONObject, by: Person, after: int = 0) -> Adoption:
    """Return the manifest for adopting an object; `of` is its group, kind, namespace and name."""
    question = WorkerQuestion(WorkerRequestKind.ADOPTION, by, cluster, {"object": of})
    return from_json(Adoption, _ask(question, after=after))


def adopt(
    cluster: Cluster,
    *,
    objects: Sequence[JSONObject],
    title: str,
    reason: str,
    options: ApplyOptions,
    by: Person,
    token_id: int | None = None,
    seconds: float = WAIT_SECONDS,
) -> int:
    """Open one review of live objects with their manifests; return its number.

    - `objects`: the group, kind, namespace and name of each; `seconds`: how long a worker is waited for.
    - `token_id`: the API token that asks; once it has ended, the worker opens no review.
    """
    token: JSONObject = {} if token_id is None else {"token": token_id}
    content = {"objects": list(objects), "title": title, "reason": reason, "options": options_to_json(options)}
    question = WorkerQuestion(WorkerRequestKind.ADOPT, by, cluster, {**content, **token})
    return as_number(as_mapping(_send(question, seconds=seconds))["review"])


def undo_run(run: ApplyRun, *, by: Person, only_lost: bool = False) -> int:
    """Open a review that reverts a run; return its number. Raises at once for what blocks it.

    - `only_lost`: it only creates again what the run deleted to replace it, and could not create.
    """
    revert.require_undo(run, by=by)
    content = {"run": run.number, "only_lost": only_lost}
    return as_number(as_mapping(_send(WorkerQuestion(WorkerRequestKind.UNDO, by, content=content)))["review"])


def add_cluster(*, slug: str, name: str, kubeconfig: bytes, context: str, by: Person) -> str:
    """Add a live cluster from an uploaded kubeconfig, which is encrypted at once; return its slug."""
    content = {"slug": slug, "name": name, "context": context}
    question = WorkerQuestion(WorkerRequestKind.ADD_CLUSTER, by, content=content, secret=kubeconfig)
    return as_text(as_mapping(_send(question))["cluster"])


def replace_credential(cluster: Cluster, *, kubeconfig: bytes, context: str, by: Person) -> str:
    """Put an uploaded kubeconfig in place of a cluster's credential, sealed at once; returns the cluster's slug."""
    question = WorkerQuestion(WorkerRequestKind.CREDENTIAL, by, cluster, {"context": context}, secret=kubeconfig)
    return as_text(as_mapping(_send(question))["cluster"])


def read_run_health(run: ApplyRun, *, by: Person, after: int = 0) -> RunHealth:
    """Return how far the live objects of a run are, read now; `after`: an answer that the person has seen."""
    question = WorkerQuestion(WorkerRequestKind.RUN_HEALTH, by, run.plan.target.cluster, {"run": run.number})
    return from_json(RunHealth, _ask(question, after=after))


def check_connection(cluster: Cluster, *, by: Person, after: int = 0) -> ConnectionCheck:
    """Ask a cluster with its own credential who it is; returns what was found, a failure too."""
    return from_json(ConnectionCheck, _ask(WorkerQuestion(WorkerRequestKind.CONNECTION, by, cluster), after=after))
