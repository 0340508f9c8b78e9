"""Stories of the back end: a team and a sandbox, where planning and running happen at once, by the use cases.

`Wire` stands between the product and the sandbox: it counts writes, and can lose them or their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import yaml
from django.contrib.auth.models import User

from applyviz import clock
from applyviz.clusters import connect
from applyviz.clusters.errors import NotSentError
from applyviz.clusters.identity import Identity
from applyviz.clusters.sandbox import SandboxTransport, open_sandbox
from applyviz.engine.objects.errors import UnreachableError
from applyviz.engine.objects.exchange import APPLY_PATCH, MERGE_PATCH, Answer, Request
from applyviz.engine.objects.values import get_at
from applyviz.engine.requests.options import ApplyOptions
from applyviz.records.enums import Role
from applyviz.records.models import ApplyRun, Cluster, Plan, Review
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow import runs
from applyviz.workflow.clusters import registration
from applyviz.workflow.plans import planner, reviews
from tests.builders import acknowledge_all, make_person, open_dangers

SETTINGS = "/api/v1/namespaces/default/configmaps/settings"


class Killed(BaseException):
    """The worker dies here: nothing catches it, as nothing catches `kill -9`."""


def config_map(name: str = "settings", **data: str) -> str:
    """A ConfigMap as YAML."""
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


def secret(name: str = "login", **data: str) -> str:
    """A Secret as YAML, with plain values."""
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})


SECRETS_OF_A_VAULT = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: secrets.vault.example.com}
spec:
  group: vault.example.com
  names: {plural: secrets, singular: secret, kind: Secret, listKind: SecretList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {data: {type: object, additionalProperties: {type: string}}}}}
"""


def vault_secret(**data: str) -> str:
    """An object of a kind of another group that is named Secret, as YAML."""
    return secret(**data).replace("apiVersion: v1", "apiVersion: vault.example.com/v1").replace("stringData", "data")


@dataclass
class Wire:
    """What goes over the wire to the sandbox; `fault(request, number of the write)` may raise or tell what to do.

    A fault of "lose request" keeps a write from the sandbox, "lose answer" lets it act and loses the answer,
    "refuse connection" is known to have sent nothing, "refuse" and "not found" are answers of the server.
    """

    writes: list[Request] = field(default_factory=list)
    effective: list[Request] = field(default_factory=list)
    fault: Callable[[Request, int], str] = lambda request, number: ""
    leads_to: Cluster | None = None
    identities: list[tuple[Identity, Request]] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)

    def connect(self, cluster: Cluster) -> _Wired:
        """A transport to a cluster that goes over this wire."""
        return _Wired(self, SandboxTransport(self.leads_to or cluster))

    def denies(self, request: Request) -> bool:
        """Whether an access review asks about a verb that nobody has here."""
        attributes = get_at(request.body, ("spec", "resourceAttributes"), {}) if request.purpose == "access" else {}
        return attributes.get("verb") in self.denied


@dataclass
class _Wired:
    wire: Wire
    inner: SandboxTransport
    identity: Identity = field(default_factory=Identity)

    def acting_as(self, identity: Identity) -> _Wired:
        return _Wired(self.wire, self.inner.acting_as(identity), identity)

    def send(self, request: Request) -> Answer:
        self.wire.identities.append((self.identity, request))
        if self.wire.denies(request):
            return Answer(201, {"status": {"allowed": False}})
        is_write = request.is_write and not request.is_dry_run
        if not is_write:
            is_refused = request.path in self.wire.unreadable
            return Answer(403, {"reason": "Forbidden"}) if is_refused else self.inner.send(request)
        self.wire.writes.append(request)
        fault = self.wire.fault(request, len(self.wire.writes))
        if fault == "refuse connection":
            raise NotSentError("no connection", is_retryable=True)
        if fault == "lose request":
            raise UnreachableError("the connection broke")
        if fault == "refuse":
            return Answer(422, {"kind": "Status", "code": 422, "reason": "Invalid", "message": "not now"})
        if fault == "not found":
            return Answer(404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not served yet"})
        answer = self.inner.send(request)
        if answer.is_ok:
            self.wire.effective.append(request)
        if fault == "lose answer":
            raise UnreachableError("the connection broke")
        return answer

    def close(self) -> None:
        self.inner.close()


class Team:
    """Alice writes, Bob approves; a sandbox of their own."""

    def __init__(self) -> None:
        self.alice: User = make_person("alice", Role.AUTHOR)
        self.bob: User = make_person("bob", Role.APPROVER)
        self.cluster = registration.create_sandbox(slug="box", name="Box")
        self.wire = Wire()

    def wire_up(self, monkeypatch) -> Team:
        """Put the wire between the product and the sandbox."""
        monkeypatch.setattr(connect, "open_transport", self.wire.connect)
        return self

    def review(self, files: Mapping[str, str], **options: object) -> Review:
        """Open a review; nothing is planned yet."""
        return reviews.create_review(
            by=self.alice,
            title="Change",
            reason="because",
            ticket="",
            cluster=self.cluster,
            options=ApplyOptions(**options),
            bundle=SourceBundle(tuple(BundledFile(name, text.encode()) for name, text in files.items())),
        )

    def plan(self, *texts: str, **options: object) -> Plan:
        """A finished plan of these manifests, one file each."""
        review = self.review({f"{n}.yaml": text for n, text in enumerate(texts)}, **options)
        planner.make_plan(review.plans.get().pk)
        return review.plans.get()

    def start(self, plan: Plan) -> ApplyRun:
        """Bob acknowledges every high risk, approves and starts; no worker has picked it up yet."""
        acknowledge_all(plan, self.bob)
        open_dangers(plan, self.bob)
        return runs.approve_and_run(plan, by=self.bob, digest=plan.digest)

    def work(self, run: ApplyRun) -> ApplyRun:
        """A worker picks the run up."""
        runs.execute_run(run.pk, sleep=lambda seconds: None)
        run.refresh_from_db()
        return run

    def apply(self, *texts: str, **options: object) -> ApplyRun:
        """Plan, approve, run."""
        return self.work(self.start(self.plan(*texts, **options)))

    def outcomes(self, run: ApplyRun) -> list[str]:
        """What came out, in the order of the plan."""
        return list(run.results.order_by("position").values_list("outcome", flat=True))

    def send(self, request: Request) -> Answer:
        """Somebody else writes to the sandbox."""
        return open_sandbox(self.cluster).handle(request)

    def apply_as(self, manager: str, text: str) -> Answer:
        """Somebody else applies a ConfigMap, with force."""
        body = yaml.safe_load(text)
        path = f"/api/v1/namespaces/default/configmaps/{body['metadata']['name']}"
        return self.send(Request("PATCH", path, {"fieldManager": manager, "force": "true"}, APPLY_PATCH, body))

    def edit(self, path: str, body: Mapping[str, object], manager: str = "kubectl-edit") -> Answer:
        """Somebody else edits an object."""
        return self.send(Request("PATCH", path, {"fieldManager": manager}, MERGE_PATCH, dict(body)))

    def live(self, path: str = SETTINGS) -> dict[str, object] | None:
        """The live object, None when there is none."""
        answer = self.send(Request("GET", path))
        return answer.body if answer.is_ok else None


def let_lease_run_out(run: ApplyRun) -> None:
    """Let the lease of a run end."""
    ApplyRun.objects.filter(pk=run.pk).update(lease_until=clock.now() - timedelta(seconds=1))
