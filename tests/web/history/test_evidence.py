"""The pages of evidence and retention, and an auditor who reads everything and changes nothing."""

import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from applyviz.clusters.sandbox import open_sandbox
from applyviz.engine.objects.exchange import JSON, Request
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, LiveFinding, Policy, PolicyVersion, RetentionPolicy
from applyviz.workflow.audit import retention, trail
from applyviz.workflow.clusters import registration
from applyviz.workflow.live import scans
from tests.architecture.test_web import addresses
from tests.builders import grant_role
from tests.web import reading, rows

EVIDENCE, RETENTION = reverse("history:show-evidence"), reverse("history:list-retention")


def browser_of(person):
    browser = Client()
    browser.force_login(person)
    return browser


@pytest.fixture
def box(db):
    cluster = registration.create_sandbox(slug="box", name="Box")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "by-hand"}, "data": {"a": "1"}}
    path = "/api/v1/namespaces/default/configmaps"
    open_sandbox(cluster).handle(Request("POST", path, {"fieldManager": "kubectl-create"}, JSON, body))
    return cluster


def scan(cluster):
    scans.scan_cluster(scans.request_scan(cluster, by=None).pk)


def test_evidence_of_the_month_is_shown_without_being_asked(as_auditor, bob, plan):
    about = trail.AuditSubject(cluster="shop", review=1, plan=1)
    trail.record(AuditAction.APPROVAL_GIVEN, by=bob, about=about, detail={"note": "fine by me"})

    page = as_auditor.get(EVIDENCE).content.decode()

    assert [text for text in ("approved a plan", "bob", "approver", "fine by me") if text not in page] == []
    assert f"/history/evidence/export/csv/?since={timezone.localdate().replace(day=1)}" in page


def test_period_that_is_none_is_said_so(as_auditor):
    answer = as_auditor.get(EVIDENCE, {"since": "2026-02-01", "until": "2026-01-01"})

    assert (answer.status_code, "end of the period must be after its start" in answer.content.decode()) == (422, True)


def test_evidence_is_exported_in_both_forms(as_auditor, box):
    for form, kind in (("csv", "text/csv"), ("jsonl", "application/jsonl")):
        answer = as_auditor.get(reverse("history:export-evidence", args=[form]), {"since": "2026-01-01"})
        body = b"".join(answer.streaming_content).decode()
        assert (answer.headers["Content-Type"].partition(";")[0], bool(body)) == (kind, True)
    assert as_auditor.get(reverse("history:export-evidence", args=["pdf"])).status_code == 404


def test_evidence_is_not_for_everybody(as_alice, as_charlie):
    assert [browser.get(EVIDENCE).status_code for browser in (as_alice, as_charlie)] == [403, 404]


def test_administrator_lets_a_policy_hold_and_end(as_root):
    made = as_root.post(RETENTION, {"name": "a year", "days": "365", "actions": ["comment.added"]})
    policy = RetentionPolicy.objects.get()
    page = as_root.get(RETENTION).content.decode()
    ended = as_root.post(reverse("history:end-retention", args=[policy.pk]))

    assert (made.status_code, ended.status_code, "a year" in page) == (302, 302, True)
    policy.refresh_from_db()
    assert (policy.actions, policy.is_active) == (["comment.added"], False)


@pytest.mark.parametrize(
    "given", [{}, {"name": "x", "days": "1"}, {"name": "x", "days": "30", "actions": ["run.finished"]}]
)
def test_policy_that_cannot_be_is_refused(as_root, given):
    assert as_root.post(RETENTION, given).status_code == 422
    assert not RetentionPolicy.objects.exists()


def test_removal_is_told_with_its_policy_time_and_entry(as_root, as_auditor, alice):
    trail.record(AuditAction.COMMENT_ADDED, by=alice, about=trail.AuditSubject(), detail={"note": "gone"})
    as_root.post(RETENTION, {"name": "a month", "days": "30", "actions": ["comment.added"]})
    policy = RetentionPolicy.objects.get()

    retention.prune(policy, now=timezone.now() + timedelta(days=31))

    told = AuditEntry.objects.get(action=AuditAction.HISTORY_PRUNED)
    row = as_auditor.get(RETENTION).content.decode().partition('id="h-removed"')[2].partition("</section>")[0]
    assert [text for text in ("a month", f'datetime="{told.at:%Y-%m-%dT%H:%M}', ">1<") if text not in row] == []
    assert reverse("history:show-entry", args=[told.pk]) in row
    exported = b"".join(as_auditor.get("/history/export/jsonl/").streaming_content).decode()
    assert ("gone" in exported, '"pruned_by":' + str(told.sequence) in exported) == (False, True)


def test_members_see_retention_and_cannot_change_it(as_alice):
    assert as_alice.get(RETENTION).status_code == 200
    assert as_alice.post(RETENTION, {"name": "x", "days": "30"}).status_code == 403
    assert as_alice.post(reverse("history:end-retention", args=[1])).status_code == 403


# Auditors --------------------------------------------------------------------------------------------

SAMPLES = {
    "number": "1", "plan": "1", "position": "0", "index": "0", "slug": "box", "cluster": "shop", "group": "apps",
    "kind": "Deployment", "namespace": "shop", "name": "frontend", "tab": "changes", "form": "csv", "manager": "ci",
    "sort": "all", "pk": "1",
}  # fmt: skip
# What an auditor does of their own: leaving, the look of pages, their own account.
OWN = (
    "/logout/",
    "/login/",
    "/theme/",
    "/account/",
    "/claim/",
    "/password",
    "/settings/account",
    "/settings/me",
    "/reauthenticate/",
    "/playground/",
    "/notifications/",
)


def every_address():
    for route, _name in addresses():
        if not route.startswith(("sandboxes/", "api/")):
            yield "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: SAMPLES.get(found[1], "1"), route)


def dump_rows():
    """All tables as they are; an export, an opened object and a delivery that anybody can send are counted, no more."""
    left_out = {"auditentry", "chainend", "session", "viewedobject", "signinlimit"}
    return {
        model._meta.label: sorted(model._default_manager.values_list(), key=str)
        for model in apps.get_models()
        if model._meta.model_name not in left_out
    }


@pytest.mark.long
def test_auditor_reads_all_and_changes_nothing(as_auditor, box, run):
    scan(box)
    before = dump_rows()
    found = sorted(set(every_address()))

    read = {path: as_auditor.get(path).status_code for path in found}
    posted = {path: as_auditor.post(path).status_code for path in found if not path.startswith(OWN)}

    told = AuditEntry.objects.filter(actor_name="audrey").values_list("action", flat=True)

    assert {path: status for path, status in read.items() if status >= 500} == {}
    assert set(told) == {AuditAction.HISTORY_EXPORTED}
    assert dump_rows() == before
    allowed = {path for path, status in posted.items() if status not in (403, 404, 405, 409)}
    # Verifying, comparing a file and hiding a card are POSTs that change no row; anybody can send a delivery.
    harmless = {"history:verify-chain": [], "reviews:compare-file": [1, 1], "hide-first-steps": [], "take-push": ["1"]}
    assert allowed <= {reverse(name, args=args) for name, args in harmless.items()}
    for path in (
        "/",
        "/reviews/",
        "/reviews/1/",
        "/runs/1/",
        "/history/",
        "/history/1/",
        EVIDENCE,
        RETENTION,
        "/clusters/box/",
    ):
        assert read[path] == 200, path


# Clusters --------------------------------------------------------------------------------------------


def test_cluster_page_shows_what_no_review_explains(as_alice, box):
    assert "Not scanned yet" in as_alice.get("/clusters/box/").content.decode()
    scan(box)

    page = as_alice.get("/clusters/box/").content.decode()

    wanted = [
        "Unmanaged objects",
        "by-hand",
        "kubectl-create",
        "/clusters/box/adopt/core/ConfigMap/default/by-hand/",
    ]
    assert [text for text in wanted if text not in page] == []


def test_look_now_asks_a_worker_once(as_alice, box, as_viewer):
    first = as_alice.post("/clusters/box/scan/", headers={"HX-Request": "true"}).content.decode()
    again = as_alice.post("/clusters/box/scan/")

    assert ("Scanning live objects" in first, again.status_code) == (True, 302)
    assert box.scans.count() == 1
    assert as_viewer.post("/clusters/box/scan/").status_code == 403


@pytest.mark.parametrize("sort", ["changed", "drifted", "missing", "unreviewed", "all"])
def test_each_sort_of_finding_has_a_page(as_viewer, box, sort):
    scan(box)

    answer = as_viewer.get(reverse("clusters:list-findings", args=["box", sort]))

    assert answer.status_code == 200
    assert ("by-hand" in answer.content.decode()) is (sort in ("unreviewed", "all"))
    assert as_viewer.get(reverse("clusters:list-findings", args=["box", "nonsense"])).status_code == 404


def test_findings_of_one_sort_have_pages_and_a_filter(as_viewer, box):
    scan(box)
    found = box.findings.get(name="by-hand")
    for n in range(60):
        found.pk, found.key, found.name = None, f"{n}", f"made-{n:02}"
        found.fields = ["data.color" if n % 2 else "data.size"]
        found.save(force_insert=True)
    url = reverse("clusters:list-findings", args=["box", "unreviewed"])

    def list_names(query: str = "") -> list[str]:
        return re.findall(r"made-<wbr>(\d\d)</a>", as_viewer.get(f"{url}{query}").content.decode())

    first, second = list_names(), list_names("?page=2")
    assert (len(set(first + second)), len(first) <= 50, bool(second)) == (60, True, True)
    assert list_names("?q=MADE-07") == ["07"]
    assert set(list_names("?q=configmap+color")) == {f"{n:02}" for n in range(1, 60, 2)}
    assert "No finding matches" in as_viewer.get(f"{url}?q=nowhere").content.decode()
    assert f'href="{url}">' in as_viewer.get(reverse("clusters:show-cluster", args=["box"])).content.decode()


def test_state_says_health_version_and_rights(as_viewer, box):
    page = as_viewer.get("/clusters/box/state/").content.decode()

    assert [
        text for text in ("Ready", "deployments", "customresourcedefinitions", "open reviews") if text not in page
    ] == []


def test_state_lists_the_permissions_on_this_cluster_alone(as_viewer, box):
    vera = User.objects.get(username="vera")
    grant_role(vera, "approver", cluster="another")
    grant_role(vera, "author", cluster="b*", namespace="shop")

    page = reading.read(as_viewer, "/clusters/box/state/")

    (rights,) = [one for one in reading.find_all(page, "ul") if reading.attribute(one, "class") == "own-rights"]
    assert [reading.text_of(item).partition(" ")[2] for item in reading.find_all(rights, "li")] == [
        "yes: view reviews, runs and history",
        "yes: open reviews only in namespace shop",
        "no: approve other people's plans",
        "no: start apply runs",
        "no: verify and export the audit log",
    ]


@pytest.mark.parametrize(("namespace", "offers"), [("default", (True, True)), ("shop", (True, False))])
def test_bringing_under_review_is_offered_to_who_may_write_there(as_viewer, box, namespace, offers):
    scan(box)
    vera = User.objects.get(username="vera")
    grant_role(vera, "author", cluster="another")
    objects = reverse("clusters:show-objects", args=["box"])
    pages = (objects, reverse("clusters:list-findings", args=["box", "unreviewed"]))

    assert [address for address in pages if "/adopt/" in as_viewer.get(address).content.decode()] == []
    grant_role(vera, "author", cluster="box", namespace=namespace)
    assert tuple("/adopt/" in as_viewer.get(address).content.decode() for address in pages) == offers


def test_live_object_that_nothing_touched_has_a_page_that_leads_on(as_viewer, as_alice, as_charlie, box):
    objects = as_viewer.get(reverse("clusters:show-objects", args=["box"])).content.decode()
    address = reverse("history:show-object", args=["box", "core", "ConfigMap", "default", "by-hand"])
    assert f'href="{address}"' in objects

    read, written = (browser.get(address).content.decode() for browser in (as_viewer, as_alice))
    assert ("No history yet" in read, "/adopt/" in read) == (True, False)
    assert reverse("clusters:adopt-object", args=["box", "core", "ConfigMap", "default", "by-hand"]) in written
    assert as_charlie.get(address).status_code == 404


def test_field_manager_page_lists_what_it_owns(as_viewer, box):
    page = as_viewer.get(reverse("clusters:field-manager", args=["box", "kubectl-create"])).content.decode()
    nobody = as_viewer.get(reverse("clusters:field-manager", args=["box", "no/body"])).content.decode()

    assert [text for text in ("by-hand", "data", "Owns 2 fields in 1 object.") if text not in page] == []
    assert "Owns no fields in this cluster" in nobody


def test_adopting_opens_a_review_of_the_live_object(as_alice, as_viewer, box):
    url = reverse("clusters:adopt-object", args=["box", "core", "ConfigMap", "default", "by-hand"])

    shown = as_alice.get(url).content.decode()
    made = as_alice.post(url, {"title": "Adopt it", "mode": "server", "field_manager": "applyviz"})

    assert ("by-hand" in shown, "kubectl-create" in shown) == (True, True)
    assert made.headers["Location"] == "/reviews/1/"
    assert as_alice.post(url, {}).status_code == 422
    assert as_viewer.get(url).status_code == 403
    assert as_alice.get(url.replace("by-hand", "nothing")).status_code == 404


def test_home_names_the_clusters_that_drifted(as_viewer, box):
    now = timezone.now()
    LiveFinding.objects.create(
        cluster=box, key="k", sort="drifted", kind="ConfigMap", name="a", first_seen=now, last_seen=now
    )

    page = as_viewer.get("/").content.decode()

    assert ("differs from what was applied" in page, "/clusters/box/#findings" in page) == (True, True)


def test_findings_of_other_places_are_not_shown(box):
    scan(box)
    person = User.objects.create_user("nora")
    grant_role(person, "viewer", cluster="box", namespace="elsewhere", is_cluster_scoped=False)

    page = browser_of(person).get("/clusters/box/").content.decode()

    assert "by-hand" not in page


def test_entries_of_other_places_are_not_shown(box, alice):
    person = User.objects.create_user("nora")
    grant_role(person, "viewer", cluster="box", namespace="elsewhere", is_cluster_scoped=False)
    entry = trail.record(
        AuditAction.COMMENT_ADDED, by=alice, about=trail.AuditSubject(cluster="prod"), detail={"note": "hush"}
    )
    browser = browser_of(person)

    assert "hush" not in browser.get("/history/").content.decode()
    assert browser.get(f"/history/{entry.pk}/").status_code == 404
    assert browser.get("/history/people/alice/").content.decode().count("hush") == 0
    assert browser.get("/history/clusters/prod/").status_code == 404


@pytest.mark.parametrize("path", ["people/alice/", "clusters/shop/", "managers/ci/"])
def test_person_cluster_and_manager_have_a_history_of_their_own(as_viewer, alice, path):
    rows.make_cluster()
    trail.record(
        AuditAction.COMMENT_ADDED,
        by=alice,
        about=trail.AuditSubject(cluster="shop", field_manager="ci"),
        detail={"note": "remember this"},
    )
    page = as_viewer.get(f"/history/{path}").content.decode()

    assert ("remember this" in page, "First entry" in page) == (True, True)
    assert as_viewer.get(f"/history/{path.split('/')[0]}/nobody-knows/").status_code == 404


def test_entry_whose_body_went_says_who_asked(as_viewer, as_root, alice):
    entry = trail.record(AuditAction.COMMENT_ADDED, by=alice, about=trail.AuditSubject(), detail={"note": "gone soon"})
    as_root.post(RETENTION, {"name": "a month", "days": "30"})

    retention.prune(RetentionPolicy.objects.get(), now=timezone.now() + timedelta(days=31))
    page = as_viewer.get(f"/history/{entry.pk}/").content.decode()

    assert ("gone soon" in page, "Details deleted" in page, "a month" in page) == (False, True, True)
    assert AuditEntry.objects.filter(action=AuditAction.HISTORY_PRUNED).count() == 1


def test_cluster_page_links_the_policies_that_hold_there(as_viewer, box):
    before = as_viewer.get("/clusters/box/settings/").content.decode()
    policy = Policy.objects.create(slug="calm", number=1)
    PolicyVersion.objects.create(policy=policy, number=1, cluster_pattern="bo*", created_at=timezone.now())

    page = as_viewer.get("/clusters/box/settings/").content.decode()

    assert ("built-in policy only" in before, reverse("settings:show-policy", args=["calm"]) in page) == (
        True,
        True,
    )
