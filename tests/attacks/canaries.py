"""Values hidden from all readers, in each field that a team can fill, and a plan in each state that holds them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from datetime import timedelta

import yaml
from django.contrib.auth.models import User

from applyviz import clock
from applyviz.clusters.kubeconfig import Credential
from applyviz.engine.requests.options import ApplyMode, SetAction
from applyviz.records.enums import ClusterKind, Role, TokenScope
from applyviz.records.git_enums import ForgeKind
from applyviz.records.models import Plan
from applyviz.records.sealing import Unsealed
from applyviz.workflow.approvals import approving
from applyviz.workflow.clusters import lifecycle
from applyviz.workflow.following import push_webhooks
from applyviz.workflow.live import scans
from applyviz.workflow.notifications import events, webhooks
from applyviz.workflow.people import tokens
from applyviz.workflow.plans import planner, presets, repository_credentials, reviews
from applyviz.workflow.runs import scheduled_starts
from tests.attacks.canary_sources import plan_sources
from tests.attacks.test_identical_pages import World
from tests.builders import acknowledge_all, make_cluster_row, make_person, open_dangers
from tests.stories import Killed, Team, config_map, secret

OPEN = "cAn4ryseen"
"""A word that everyone reads who may view the namespace."""
_LOGIN = "/api/v1/namespaces/default/secrets/login"
_PLACES = (
    *("data", "text", "unknown", "note", "copied", "packed", "nested", "file", "password", "address", "variable"),
    *("argument", "broken", "patched", "live", "kubeconfig", "repository", "webhook", "path", "query", "token"),
    *("notes", "warning", "people"),
)
CANARIES = {place: f"zQ{number:02d}x7WvK-{place}" for number, place in enumerate(_PLACES, 10)}


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _pack(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def list_forms(place: str) -> Iterator[str]:
    """Yield the beginning of a value in each encoding; its base64 depends on the bytes before it."""
    value = CANARIES[place]
    yield from (value[:9], value.encode().hex()[:18], *(b64(value[skipped:])[:8] for skipped in range(3)))
    if place == "packed":
        yield _pack(secret(a=value))[24:44]


def write_objects(round_: str) -> list[str]:
    """A Secret with copies of itself, a ConfigMap and a workload; each round has other values of the same beginning."""
    here = {place: f"{value}-{round_}" for place, value in CANARIES.items()}
    login = yaml.safe_load(secret(text=here["text"]))
    login["data"] = {"key": b64(here["data"])}
    if round_ == "odd":
        login["stringdata"] = {"a": here["unknown"]}  # an object with errors
    copy = json.dumps({**login, "stringData": {"a": here["note"]}})
    nested = json.dumps({"manifest": json.dumps({**login, "stringData": {"a": here["nested"]}})})
    copied = b64(secret(a=here["copied"]))
    packed = _pack(secret(a=CANARIES["packed"]))
    login["metadata"]["annotations"] = {"note": copy, "copied": copied, "packed": packed, "nested": nested, "of": OPEN}
    variables = {"DB_PASSWORD": here["variable"], "GIT_URL": f"https://ci:{here['address']}@git.example/shop.git"}
    container = {
        "name": "web",
        "image": "registry.example/web:1",
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "args": [f"--token={here['argument']}"],
    }
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    web["spec"] = {"selector": {"matchLabels": {"app": "web"}}, "template": pod}  # type: ignore[assignment]
    files = {"file": secret(a=here["file"]), "password": here["password"], "seen": f"{OPEN}-{round_}"}
    return [yaml.safe_dump(login), config_map(**files), yaml.safe_dump(web)]


def _connect(team: Team, admin: User) -> None:
    """Everything with a credential that an administrator registers."""
    here = CANARIES
    nothing = "https://127.0.0.1:1"
    credential = Unsealed.of_json(Credential(nothing, token=here["kubeconfig"]).to_json())
    given = {"kind": ClusterKind.LIVE, "server": nothing, "credential": credential}
    _live, old = (make_cluster_row(slug, **given) for slug in ("live", "old"))
    lifecycle.archive_cluster(old, by=admin)
    address = "https://git.example/team"
    draft = repository_credentials.Draft(address=address, secret=here["repository"], username="ci")
    repository_credentials.add_credential(draft, by=admin)
    push_webhooks.add_webhook(f"{address}/shop.git", ForgeKind.GITHUB, by=admin)
    url = f"https://chat.example/{here['path']}?key={here['query']}"
    hook = webhooks.add_webhook(name="chat", url=url, secret=here["webhook"] * 2, events=[], by=admin)
    webhooks.try_webhook(hook, by=admin)
    options = {"links": f"https://files.example/a.yaml?sig={here['token']}"}
    presets.add_preset(presets.PresetDraft(slug="files", name="Files", cluster=team.cluster, options=options), by=admin)
    account = tokens.make_service_account(by=admin, name="bot", purpose="ci")
    tokens.make_token(by=admin, account=account, name="ci", scope=TokenScope.PLAN, days=7)


def _plan_states(world: World) -> None:
    """A plan in every state that people meet."""
    team = world.team
    world.plans += [team.plan(*write_objects(name)) for name in ("waits", "odd", "asked")]
    approving.request_changes(world.plans[-1], by=team.bob, digest=world.plans[-1].digest, note="no")
    conflict = team.plan(*write_objects("conflict"), field_manager="other")
    broken = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringData: {{a: *{CANARIES['broken']}}}\n"
    closed = team.plan(*write_objects("closed"))
    reviews.close_review(closed.review, by=team.alice)
    target = {"apiVersion": "v1", "kind": "Secret", "name": "login"}
    body = {"data": {"key": b64(CANARIES["patched"])}}
    patch = yaml.safe_dump({"kind": "Patch", "target": target, "type": "merge", "patch": body})
    world.plans += [conflict, closed, team.plan(broken, config_map(a="1")), team.plan(broken)]
    world.plans += [team.plan(patch, action=SetAction.PATCH)]
    world.plans += [team.plan(*write_objects("deleted"), action=SetAction.DELETE)]
    team.wire.unreadable = {"/api", "/apis", "/version", "/openapi/v3"}
    world.plans.append(team.plan(*write_objects("unplanned")))
    team.wire.unreadable = set()
    again = team.plan(*write_objects("again"))
    reviews.replan_review(again.review, by=team.alice, seen=again)
    planner.make_plan(again.review.plans.get(number=2).pk)
    world.plans += [again, again.review.plans.get(number=2)]


def _approve(team: Team, name: str) -> Plan:
    plan = team.plan(*write_objects(name), takes_over=True)
    acknowledge_all(plan, team.bob)
    open_dangers(plan, team.bob)
    approving.approve_plan(plan, by=team.bob, digest=plan.digest)
    return plan


def _run_states(world: World) -> None:
    """A run in every state that people meet."""
    team, wire = world.team, world.team.wire
    world.plans += [_approve(team, "approved"), later := _approve(team, "later")]
    at = clock.now() + timedelta(hours=1)
    scheduled_starts.schedule_start(
        later, by=team.bob, digest=later.digest, not_before=at, expires_at=at + timedelta(hours=1)
    )
    refused = team.start(team.plan(*write_objects("refused"), takes_over=True))
    wire.fault = lambda _request, _number: "refuse"
    world.runs.append(team.work(refused))
    stale = team.start(team.plan(*write_objects("stale"), takes_over=True))
    assert team.edit(_LOGIN, {"stringData": {"text": CANARIES["live"]}}).is_ok
    wire.fault = lambda _request, _number: ""
    world.runs.append(team.work(stale))
    cut = team.start(team.plan(*write_objects("cut"), takes_over=True))

    def die(_request: object, number: int) -> str:
        raise Killed

    wire.fault = die
    try:
        team.work(cut)
    except Killed:
        cut.refresh_from_db()
    wire.fault = lambda _request, _number: ""
    world.runs.append(cut)
    world.plans += [run.plan for run in world.runs]


def play(team: Team) -> World:
    """All of it; the states of its plans and runs are named in the crawl."""
    world = World(team)
    dana = make_person("dana", *Role)
    _connect(team, dana)
    for mode in (ApplyMode.CLIENT, ApplyMode.SERVER):
        world.runs.append(team.apply(*write_objects(mode), mode=mode, takes_over=mode is ApplyMode.SERVER))
    _plan_states(world)
    _run_states(world)
    world.plans += plan_sources(team, CANARIES, write_objects)
    scans.scan_cluster(scans.request_scan(team.cluster, by=None).pk)
    events.send_pending()
    return world
