"""kOps channels through planning and running: what is chosen, applied, pruned and recorded, and what is not."""

from __future__ import annotations

import json

import pytest
import yaml

from applyviz.engine.channels.choosing import hash_manifest
from applyviz.engine.channels.sentences import list_duties, render_choice
from applyviz.engine.objects.exchange import MERGE_PATCH, Request
from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.engine.requests.options import Prune, PruneMode
from applyviz.engine.risks.planning.addons import NEEDS_ROLLING_UPDATE
from applyviz.engine.risks.sentences import render_risk
from applyviz.records.enums import Outcome, PlanState, Role, RunState
from applyviz.records.models import ApplyRun, JournalEntry, Undo
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.workflow.audit.recorded_runs import check_records
from applyviz.workflow.plans import changes, planner, revert, reviews
from tests.builders import grant_role, make_policy, take_roles
from tests.channels import RECORDS, addon, channel, config, pruning, simple
from tests.stories import Killed, let_lease_run_out

pytestmark = pytest.mark.django_db
KOPS = {"field_manager": "kops"}
CONFIGS = "/api/v1/namespaces/kube-system/configmaps"


def plan(team, files, **options):
    review = team.review(files, **{**KOPS, **options})
    planner.make_plan(review.plans.get().pk)
    return review.plans.get()


def apply(team, files):
    return team.work(team.start(plan(team, files)))


def choices(made):
    chosen = options_from_json(made.options).channel.addons
    return {one.addon.name: (one.action.value, one.reason.value) for one in chosen}


def rows(made):
    return list(made.changes.order_by("position").values_list("operation", "kind", "name", "step"))


def record(team, name):
    return json.loads(team.live(RECORDS)["metadata"]["annotations"][f"addons.k8s.io/{name}"])


def problems(made):
    return [problem["reason"] for problem in made.problems]


def test_first_plan_installs_every_addon_and_records_each_last(team):
    made = plan(team, simple())

    assert (made.state, made.error, made.problems) == (PlanState.COMPLETE, "", [])
    assert choices(made) == {"dns": ("install", "not-installed"), "web": ("install", "not-installed")}
    assert rows(made) == [
        ("create", "ConfigMap", "dns", 0),
        ("update", "Namespace", "kube-system", 1),
        ("create", "ConfigMap", "web", 2),
        ("create", "ConfigMap", "web-1", 2),
        ("update", "Namespace", "kube-system", 3),
    ]


def test_run_writes_what_was_planned_and_the_next_plan_has_nothing_to_apply(team):
    run = apply(team, simple())

    assert (run.state, run.error, set(team.outcomes(run))) == (RunState.APPLIED, "", {Outcome.VERIFIED})
    assert [r.ref.name for r in team.wire.effective] == ["dns", "kube-system", "web", "web-1", "kube-system"]
    assert record(team, "dns")["id"] == "k8s-1.30"
    assert record(team, "dns")["channel"] == "bootstrap-channel.yaml"
    assert record(team, "dns")["systemGeneration"] == 1

    again = plan(team, simple())
    assert choices(again) == {"dns": ("skip", "same"), "web": ("skip", "same")}
    assert (again.state, again.problems, rows(again)) == (PlanState.COMPLETE, [], [])


@pytest.mark.long
def test_history_confirms_each_record_of_a_run_and_names_one_that_was_swapped(team):
    apply(team, simple())
    started = team.start(plan(team, simple("2")))
    team.wire.fault = lambda request, number: "lose request" if request.ref.name == "web" else ""
    team.work(started)
    assert check_records() == ()

    first, second = JournalEntry.objects.filter(path=RECORDS, result__run__number=1).order_by("pk")
    JournalEntry.objects.filter(pk=first.pk).update(answer=second.answer)
    JournalEntry.objects.filter(pk=second.pk).update(answer=first.answer)

    fault = "its answer is not the recorded one"
    assert [(one.number, one.fault) for one in check_records()] == [(first.pk, fault)]


def test_upgraded_addon_prunes_what_its_manifest_no_longer_names(team):
    apply(team, simple(web={"prune": pruning()}))

    made = plan(team, simple("2", web={"prune": pruning()}))
    run = team.work(team.start(made))

    assert choices(made) == {"dns": ("update", "other-manifest"), "web": ("update", "other-manifest")}
    assert rows(made)[-2:] == [("prune", "ConfigMap", "web-1", 3), ("update", "Namespace", "kube-system", 4)]
    assert (run.state, run.error) == (RunState.APPLIED, "")
    names = {item["metadata"]["name"] for item in team.live(CONFIGS)["items"]}
    assert names >= {"dns", "web", "web-2"}
    assert "web-1" not in names


def test_failed_addon_is_not_recorded_and_the_others_are(team):
    team.wire.fault = lambda request, number: "lose request" if request.ref.name == "dns" else ""

    run = team.work(team.start(plan(team, simple())))

    assert run.state == RunState.FAILED
    annotations = team.live(RECORDS)["metadata"]["annotations"]
    assert "addons.k8s.io/dns" not in annotations
    assert "addons.k8s.io/web" in annotations
    detail = run.results.get(position=1).detail
    assert "addon dns is not complete: ConfigMap kube-system/dns" in detail
    assert choices(plan(team, simple())) == {"dns": ("install", "not-installed"), "web": ("skip", "same")}


@pytest.mark.long
def test_policy_lets_a_failed_addon_stop_the_others(team):
    make_policy("strict")
    team.wire.fault = lambda request, number: "lose request" if request.ref.name == "dns" else ""

    run = team.work(team.start(plan(team, simple())))

    assert run.state == RunState.FAILED
    assert not team.live(RECORDS)["metadata"].get("annotations")
    assert set(run.results.filter(change__name="web").values_list("outcome", flat=True)) == {"not-attempted"}


@pytest.mark.long
def test_next_worker_goes_on_where_a_lost_one_stopped(team):
    run = team.start(plan(team, simple()))

    def kill(request, number):
        if request.ref.name == "web":
            raise Killed
        return ""

    team.wire.fault = kill
    with pytest.raises(Killed):
        team.work(run)
    team.wire.fault = lambda request, number: ""
    let_lease_run_out(run)
    run = team.work(ApplyRun.objects.get(pk=run.pk))

    assert (run.state, run.error) == (RunState.APPLIED, "")
    assert {record(team, name)["systemGeneration"] for name in ("dns", "web")} == {1}


def test_run_is_stale_when_another_client_records_an_addon_after_the_plan(team):
    run = team.start(plan(team, simple()))
    body = {"metadata": {"annotations": {"addons.k8s.io/web": '{"id":"k8s-1.31"}'}}}
    team.send(Request("PATCH", RECORDS, {"fieldManager": "channels"}, MERGE_PATCH, body))

    run = team.work(run)

    assert (run.state, team.wire.effective) == (RunState.STALE, [])
    details = list(run.results.exclude(detail="").values_list("detail", flat=True))
    assert "the record of addon web changed since it was reviewed: plan the channel again" in details
    assert not [detail for detail in details if "addon dns" in detail]


def test_wrong_hash_and_missing_manifest_are_problems_with_a_line_and_the_rest_is_planned(team):
    files = simple()
    files["dns/v1.yaml"] = config("dns", "changed")
    third = addon("gone", "")
    whole = channel({}, [third])["bootstrap-channel.yaml"]
    files["bootstrap-channel.yaml"] += "\n".join(line for line in whole.splitlines() if line.startswith("  -")) + "\n"
    files["bootstrap-channel.yaml"] += f"    name: gone\n    manifest: {third['manifest']}\n"

    made = plan(team, files)

    assert choices(made)["dns"] == ("not-planned", "wrong-hash")
    assert choices(made)["gone"] == ("not-planned", "no-manifest")
    assert [(p["file"], bool(p["line"])) for p in made.problems] == [("bootstrap-channel.yaml", True)] * 2
    found, named = (hash_manifest(config("dns", value).encode()) for value in ("changed", "1"))
    assert (
        f"dns/v1.yaml is not the manifest of the channel: its SHA-256 is {found}, the channel says {named}."
        in (problems(made)[0])
    )
    assert "Its manifest gone/v1.yaml is missing." in problems(made)[1]
    assert [row[2] for row in rows(made)] == ["web", "web-1", "kube-system"]


def test_addon_with_a_part_in_error_is_planned_and_not_recorded(team):
    broken = config("dns") + "---\nkind: ConfigMap\n"
    files = channel({"dns": broken}, [addon("dns", broken)])

    made = plan(team, files)

    assert [row[:3] for row in rows(made)] == [("create", "ConfigMap", "dns")]
    assert "addon dns is not pruned and not recorded as installed: a part of dns/v1.yaml is in error" in problems(made)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"selector": "a=b"}, "the addons of a kOps channel are applied whole: remove the selector"),
        (
            {"prune": Prune(PruneMode.APPLYSET, applyset="parent")},
            "each addon of a kOps channel prunes by its own kinds: choose no prune method",
        ),
    ],
)
def test_options_that_do_not_fit_a_channel_fail_the_plan(team, options, error):
    made = plan(team, simple(), **options)

    assert made.state == PlanState.FAILED
    assert made.error == error


@pytest.mark.long
def test_reverted_run_keeps_the_records_and_says_so(team):
    run = apply(team, simple())

    review = revert.prepare_revert(run, by=team.alice)()
    planner.make_plan(review.plans.get().pk)

    notes = Undo.objects.get(review=review).notes
    assert "addon dns stays recorded as installed: plan the former channel to go back to it" in notes
    assert {row[0] for row in rows(review.plans.get())} == {"prune"}


def test_requester_needs_rights_on_the_namespace_that_records_addons(team):
    take_roles(team.alice)
    grant_role(team.alice, Role.AUTHOR, namespace="kube-system", is_cluster_scoped=False)

    made = plan(team, simple(), namespace="kube-system")

    assert made.state == PlanState.FAILED
    assert made.error == "alice can't create plans for cluster-scoped objects of box"


@pytest.mark.long
def test_next_plan_of_other_manifests_is_no_channel(team):
    review = plan(team, simple()).review
    bundle = SourceBundle((BundledFile("a.yaml", config("plain").encode()),))
    made = reviews.replan_review(review, by=team.alice, bundle=bundle)
    planner.make_plan(made.pk)
    made.refresh_from_db()

    assert (options_from_json(made.options).channel, [row[2] for row in rows(made)]) == (None, ["plain"])


def test_plain_files_beside_a_channel_are_planned_and_run_and_do_not_block(team):
    made = plan(team, {**simple(), "plain.yaml": config("plain")})

    assert (made.problems, rows(made)[-1]) == ([], ("create", "ConfigMap", "plain", 4))
    run = team.work(team.start(made))
    assert (run.state, team.live(f"{CONFIGS}/plain")["data"]) == (RunState.APPLIED, {"value": "1"})


def test_objects_of_a_skipped_addon_and_broken_plain_files_are_not_mixed_up(team):
    files = simple(dns={"kubernetesVersion": "<1.20.0"})

    made = plan(team, {**files, "plain.yaml": "kind: ConfigMap\n"})

    assert {row[2] for row in rows(made)} == {"web", "web-1", "kube-system"}
    assert [(p["file"], p["reason"]) for p in made.problems] == [("plain.yaml", "apiVersion not set")]


def test_kind_that_is_not_served_is_a_note_of_the_addon_and_blocks_nothing(team):
    kinds = {"kinds": [{"kind": "Widget", "group": "example.com"}, {"kind": "ConfigMap", "labelSelector": "addon=web"}]}

    made = plan(team, simple(web={"prune": kinds}))

    chosen = {one.addon.name: one.unserved for one in options_from_json(made.options).channel.addons}
    assert (made.problems, chosen) == ([], {"dns": (), "web": ("Widget.example.com",)})
    assert rows(made)[-1][:3] == ("update", "Namespace", "kube-system")


def test_addon_that_left_the_channel_stays_listed(team):
    apply(team, simple())
    files = simple()
    only_dns = yaml.safe_load(files["bootstrap-channel.yaml"])
    only_dns["spec"]["addons"] = only_dns["spec"]["addons"][:1]

    made = plan(team, {**files, "bootstrap-channel.yaml": yaml.safe_dump(only_dns), "web/v1.yaml": ""})

    assert choices(made) == {"dns": ("skip", "same"), "web": ("skip", "not-in-channel")}


@pytest.mark.long
def test_records_in_all_namespaces_are_listed_where_the_channel_does_not_name_them(team):
    record = '{"id":"k8s-1.20"}'
    annotations = {"addons.k8s.io/web": record, "addons.k8s.io/gone": record, "addons.k8s.io/odd": "soon"}
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "annotations": annotations}}
    team.send(Request("POST", "/api/v1/namespaces", {"fieldManager": "channels"}, body=shop))

    made = plan(team, simple())
    channel_plan = options_from_json(made.options).channel
    told = {one.addon.name: render_choice(one, "") for one in channel_plan.addons if one.addon.namespace == "shop"}
    team.wire.unreadable.add("/api/v1/namespaces")
    unlisted = plan(team, simple())

    assert [(one.addon.name, one.reason.value) for one in channel_plan.addons] == [
        ("dns", "not-installed"),
        ("web", "not-installed"),
        ("web", "other-namespace"),
        ("gone", "not-in-channel"),
    ]
    assert told == {
        "web": "Recorded in namespace shop, but the channel records it in namespace kube-system: kOps ignores this "
        "record. To remove it, delete the annotation addons.k8s.io/web.",
        "gone": "Installed, but not in this channel: its objects and its annotation stay. To remove it, delete its "
        "objects, then the annotation addons.k8s.io/gone of namespace shop.",
    }
    assert choices(unlisted) == {"dns": ("install", "not-installed"), "web": ("install", "not-installed")}


@pytest.mark.parametrize(
    "entry",
    [
        {"kubernetesVersion": 1.3},
        {"namespace": ""},
        {"namespace": "a/b"},
        {"namespace": "Shop"},
        {"name": "w b"},
        {"name": "w/b"},
        {"name": "w" * 64},
    ],
)
def test_manifest_of_an_entry_that_cannot_be_read_is_not_planned_as_one_of_no_addon(team, entry):
    files = simple()
    whole = yaml.safe_load(files["bootstrap-channel.yaml"])
    whole["spec"]["addons"][1] |= entry
    made = plan(team, {**files, "bootstrap-channel.yaml": yaml.safe_dump(whole, sort_keys=False)})

    (problem,) = made.problems
    assert (problem["file"], problem["line"] > 9) == ("bootstrap-channel.yaml", True)
    assert problem["reason"].startswith(f"spec.addons[1].{next(iter(entry))} must be ")
    assert [row[1:3] for row in rows(made)] == [("ConfigMap", "dns"), ("Namespace", "kube-system")]


def test_what_an_addon_cannot_prune_is_a_problem_of_its_entry(team):
    made = plan(team, simple(web={"prune": pruning(fieldSelector="spec.color=red")}))

    (problem,) = made.problems
    assert (problem["file"], problem["line"]) == ("bootstrap-channel.yaml", 10)
    assert problem["reason"].startswith("addon web is not pruned and not recorded: ")


@pytest.mark.long
def test_nodes_that_kops_would_mark_are_named(team):
    apply(team, simple())
    for name, labels in (("n1", {"node-role.kubernetes.io/node": ""}), ("n2", {})):
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        team.send(Request("POST", "/api/v1/nodes", {"fieldManager": "kubelet"}, body=body))

    found, risks = {}, {}
    for group in ("workers", "control-plane", "all"):
        made = plan(team, simple("2", web={"needsRollingUpdate": group}))
        (web,) = [one for one in options_from_json(made.options).channel.addons if one.addon.name == "web"]
        found[group] = (web.nodes, *list_duties(web))
        risks[group] = {
            row.name: render_risk(risk)
            for row in made.changes.all()
            for risk in changes.read_masked(row).risks
            if risk.kind is NEEDS_ROLLING_UPDATE
        }

    named = "with the annotation kops.k8s.io/needs-update, applyviz does not."
    assert found == {
        "workers": (("n1",), f"Needs a rolling update of the worker nodes: kOps marks n1 {named}"),
        "control-plane": (
            (),
            "Needs a rolling update of the control plane nodes: kOps marks nodes with the label "
            "node-role.kubernetes.io/master, and no node has it.",
        ),
        "all": (("n1", "n2"), f"Needs a rolling update of all nodes: kOps marks n1, n2 {named}"),
    }
    told = "kOps marks them for it, applyviz does not: roll them yourself."
    assert risks == {
        "workers": {
            "kube-system": f"The update of addon web needs a rolling update of the worker nodes: n1. {told}",
        },
        "control-plane": {},
        "all": {"kube-system": f"The update of addon web needs a rolling update of all nodes: n1, n2. {told}"},
    }
