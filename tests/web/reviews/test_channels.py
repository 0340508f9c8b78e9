"""kOps channels on pages: uploaded as a folder or fetched by a link, the choice of each addon with its reason."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from applyviz.records.enums import Role, RunState
from applyviz.records.models import Plan
from applyviz.workflow.plans import planner
from tests.builders import make_person
from tests.channels import channel, config, pruning, simple
from tests.charts import archive
from tests.workflow.test_channels import plan as make_plan

pytestmark = pytest.mark.django_db
URL = reverse("reviews:add-review")


@pytest.fixture
def as_alice(team):
    browser = Client()
    browser.force_login(team.alice)
    return browser


def fill(**values):
    form = {"title": "Addons", "cluster": "box", "namespace": "default", "mode": "server", "field_manager": "applyviz"}
    return form | values


def upload(files):
    named = list(files.items())
    parts = [SimpleUploadedFile(name.rpartition("/")[2], text.encode()) for name, text in named]
    return fill(manifests=parts, paths=json.dumps([f"addons/{name}" for name, _ in named]))


def open_review(browser, form):
    answer = browser.post(URL, form)
    assert answer.status_code == 302
    made = Plan.objects.latest("pk")
    planner.make_plan(made.pk)
    made.refresh_from_db()
    return made


def show(browser, made):
    answer = browser.get(reverse("reviews:show-plan", args=[made.review.number, made.number]))
    return " ".join(answer.content.decode().split())


def test_folder_of_a_channel_shows_the_choice_of_each_addon(as_alice):
    made = open_review(as_alice, upload(simple(web={"kubernetesVersion": "<1.20.0"}, dns={"needsPKI": True})))

    shown = show(as_alice, made)

    assert (made.error, made.problems, made.options["field_manager"]) == ("", [], "kops")
    assert "addons/bootstrap-channel.yaml" in shown.replace("<wbr>", "")
    assert "1 to install, 1 skipped" in shown
    assert "Not installed: namespace kube-system has no annotation addons.k8s.io/dns." in shown
    assert "For Kubernetes &lt;1.20.0; the server runs v1.36." in shown
    assert "Needs a CA: applyviz does not create Secret dns-ca and Issuer dns in kube-system." in shown
    assert shown.index('id="risks-title"') < shown.index('id="channel-title"')
    record = as_alice.get(reverse("reviews:show-record", args=[made.review.number, made.number])).content.decode()
    assert "1 to install, 1 skipped" in record


def test_other_field_manager_is_kept(as_alice):
    made = open_review(as_alice, upload(simple()) | {"field_manager": "mine"})

    assert made.options["field_manager"] == "mine"


def test_overview_of_other_manifests_has_no_addons(as_alice):
    made = open_review(as_alice, fill(text=config("a")))

    assert 'id="channel-title"' not in show(as_alice, made)
    assert "field_manager" not in made.options  # the product's own


def test_channel_without_addons_says_so(as_alice):
    made = open_review(as_alice, upload({**channel({}, []), "stray.yaml": config("stray")}))

    shown = show(as_alice, made)

    assert "The channel lists no addons." in shown
    assert list(made.changes.values_list("name", flat=True)) == ["stray"]


def test_form_names_missing_manifests_and_odd_entries_at_once(as_alice):
    files = simple()
    del files["dns/v1.yaml"]
    files["bootstrap-channel.yaml"] += "  - 5\n"

    shown = as_alice.post(reverse("reviews:check-source"), upload(files)).content.decode()

    assert "the manifest addons/dns/v1.yaml of addon dns is missing" in shown
    assert "spec.addons[2] must be an object" in shown


class _Server:
    """Serves the files of a channel, but for one."""

    def __init__(self, files):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                text = files.get(self.path.partition("?")[0].removeprefix("/v1/"))
                if text is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/yaml")
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *args):
                """Stay quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def test_link_to_a_channel_fetches_its_addons_and_names_those_that_are_gone(as_alice, settings):
    files = simple()
    del files["dns/v1.yaml"]
    with _Server(files) as server:
        settings.APPLYVIZ_LINK_HOSTS = (server.origin,)
        made = open_review(as_alice, fill(links=f"{server.origin}/v1/bootstrap-channel.yaml?token=canary"))

    names = list(made.revision.files.order_by("position").values_list("name", flat=True))
    assert names == ["bootstrap-channel.yaml", "web/v1.yaml"]
    assert made.options["channel"]["location"] == f"{server.origin}/v1/bootstrap-channel.yaml"
    assert [p["reason"] for p in made.problems] == [
        "addon dns is not planned: Its manifest dns/v1.yaml is missing. 127.0.0.1 answered 404: check the link; a file "
        "that needs a sign-in looks missing too, so upload it instead"
    ]
    assert "canary" not in json.dumps(made.options)
    assert list(made.changes.order_by("position").values_list("name", flat=True)) == ["web", "web-1", "kube-system"]


def test_addon_on_a_host_that_is_not_allowed_is_not_fetched(as_alice, settings):
    files = simple()
    hostile = "http://169.254.169.254/latest/meta-data"
    text = files["bootstrap-channel.yaml"].replace("manifest: dns/v1.yaml", f"manifest: {hostile}")
    with _Server({**files, "bootstrap-channel.yaml": text}) as server:
        settings.APPLYVIZ_LINK_HOSTS = (server.origin,)
        made = open_review(as_alice, fill(links=f"{server.origin}/v1/bootstrap-channel.yaml"))

    assert made.options["channel"]["addons"][0]["action"] == "not-planned"
    assert "Its manifest 169.254.169.254/latest/meta-data is missing." in made.problems[0]["reason"]


def show_addons(browser, made):
    answer = browser.get(reverse("reviews:show-addons", args=[made.review.number, made.number]))
    assert answer.status_code == 200
    return " ".join(answer.content.decode().replace("<wbr>", "").split())


def test_addons_tab_lists_each_addon_with_its_objects_and_folds_the_skipped_ones(as_alice):
    files = simple(web={"kubernetesVersion": "<1.20.0"})
    made = open_review(as_alice, upload({**files, "plain.yaml": config("plain")}))

    shown = show_addons(as_alice, made)

    assert "Not installed: namespace kube-system has no annotation addons.k8s.io/dns." in shown
    assert "ConfigMap/dns" in shown
    assert "Namespace/kube-system" in shown
    assert "Manifests of no addon" in shown
    assert "ConfigMap/plain" in shown
    assert "1 addon is skipped" in shown
    assert "addons/bootstrap-channel.yaml:6" in shown
    assert 'aria-current="page"' in shown


def test_addons_tab_belongs_to_plans_of_channels(as_alice):
    made = open_review(as_alice, upload(simple()))
    assert "Addons <span" in show(as_alice, made)
    show_addons(as_alice, made)
    other = open_review(as_alice, fill(text=config("a")))

    assert "/addons/" not in show(as_alice, other)
    assert "This plan has no kOps channel: no file of kind Addons." in show_addons(as_alice, other)


def test_addons_tab_of_a_channel_that_skips_everything_says_so(as_alice):
    skipped = {"kubernetesVersion": "<1.20.0"}
    made = open_review(as_alice, upload(simple(web=skipped, dns=skipped)))

    assert "Every addon is skipped." in show_addons(as_alice, made)


def test_objects_that_an_addon_does_not_prune_are_named_as_left_behind(team, as_alice):
    prunes_other_kinds = {"prune": pruning("Secret")}
    run = team.work(team.start(make_plan(team, simple("1", web=prunes_other_kinds))))
    assert run.state == RunState.APPLIED

    shown = show(as_alice, open_review(as_alice, upload(simple("2", web=prunes_other_kinds))))
    pruned = show(as_alice, open_review(as_alice, upload(simple("2", web={"prune": pruning()}))))

    assert "1 object of run 1 is not in these manifests" in shown
    assert "ConfigMap/web-1 in kube-system" in shown
    assert "Their addons do not prune them, so they stay." in shown
    assert "is not in these manifests" not in pruned


def test_uploaded_channel_fetches_what_it_names_by_address_and_says_what_it_cannot_read(as_alice, settings):
    files = simple()
    text = files.pop("bootstrap-channel.yaml").replace("manifest: web/v1.yaml", "manifest: s3://bucket/web/v1.yaml")
    with _Server(files) as server:
        settings.APPLYVIZ_LINK_HOSTS = (server.origin,)
        text = text.replace("manifest: dns/v1.yaml", f"manifest: {server.origin}/v1/dns/v1.yaml")
        made = open_review(as_alice, fill(text=text))

    assert [row.name for row in made.changes.order_by("position")] == ["dns", "kube-system"]
    (problem,) = made.problems
    assert problem["reason"] == (
        "addon web is not planned: Its manifest bucket/web/v1.yaml is missing. s3 addresses are not read: download the "
        "folder and upload it"
    )


def choose_addon(browser, made, name, choice):
    url = reverse("reviews:choose-addon", args=[made.review.number, made.number])
    answer = browser.post(url, {"addon": name, "choice": choice})
    following = made.review.plans.order_by("number").last()
    planner.make_plan(following.pk)
    following.refresh_from_db()
    return answer, following


def test_skipped_addon_is_planned_anyway_and_skipped_again_from_its_tab(as_alice):
    made = open_review(as_alice, upload(simple(web={"kubernetesVersion": "<1.20.0"})))
    assert show_addons(as_alice, made).count("Plan it anyway") == 1

    answer, following = choose_addon(as_alice, made, "web", "plan")

    shown = show_addons(as_alice, following)
    assert (answer.status_code, following.number) == (302, 2)
    assert "kOps skips it; it is planned anyway." in shown
    assert ("ConfigMap/web-1" in shown, "Skip it again" in shown, "Plan it anyway" in shown) == (True, True, False)
    risks = as_alice.get(reverse("reviews:show-risks", args=[made.review.number, 2])).content.decode()
    assert "Addon that kOps skips" in risks
    assert "Addon web is for Kubernetes &lt;1.20.0, and the server runs v1.36" in risks

    _answer, last = choose_addon(as_alice, following, "web", "skip")

    assert "1 addon is skipped" in show_addons(as_alice, last)


def test_choice_of_an_addon_is_refused_where_there_is_none(team, as_alice):
    made = open_review(as_alice, upload(simple()))
    reader = Client()
    reader.force_login(make_person("victor", Role.VIEWER))

    assert choose_addon(as_alice, made, "web", "plan")[0].status_code == 422
    assert choose_addon(as_alice, made, "web", "maybe")[0].status_code == 422
    assert choose_addon(reader, made, "web", "plan")[0].status_code == 403
    assert made.review.plans.count() == 1


def test_reader_of_a_channel_has_no_button(as_alice):
    made = open_review(as_alice, upload(simple(web={"kubernetesVersion": "<1.20.0"})))
    reader = Client()
    reader.force_login(make_person("victor", Role.VIEWER))

    assert "1 addon is skipped" in show_addons(reader, made)
    assert "Plan it anyway" not in show_addons(reader, made)


def test_addon_with_a_left_out_object_is_neither_recorded_nor_pruned_and_the_others_run(team, as_alice):
    team.work(team.start(make_plan(team, simple("1", web={"prune": pruning()}))))
    made = open_review(as_alice, upload(simple("2", web={"prune": pruning()})))
    url = reverse("reviews:plan-others", args=[made.review.number, made.number])
    page = as_alice.get(url).content.decode()
    assert "The addons of left-out objects are neither pruned nor recorded as installed this time." in page
    assert (page.count("ConfigMap/"), page.count("Namespace/kube-system")) == (3, 0)  # nobody leaves out a record

    left_out = made.changes.get(name="web-2").position
    assert as_alice.post(url, {"objects": [left_out], "reason": "too early"}).status_code == 302
    following = made.review.plans.order_by("number").last()
    planner.make_plan(following.pk)
    following.refresh_from_db()
    shown = show(as_alice, following)
    run = team.work(team.start(following))

    assert "too early. The addons of left-out objects are neither pruned nor recorded as installed this time." in shown
    assert (following.problems, run.state) == ([], RunState.APPLIED)
    again = make_plan(team, simple("2", web={"prune": pruning()}))
    assert [(row.operation, row.name) for row in again.changes.order_by("position")] == [
        ("unchanged", "web"),
        ("create", "web-2"),
        ("prune", "web-1"),
        ("update", "kube-system"),
    ]


@pytest.mark.parametrize("top", ["", "addons"])
def test_archive_of_a_channel_is_its_folder(as_alice, top):
    packed = SimpleUploadedFile("channel.tgz", archive({**simple(), "README.md": "x"}, top))
    made = open_review(as_alice, fill(manifests=[packed]))

    assert [row.name for row in made.changes.order_by("position")] == [
        "dns", "kube-system", "web", "web-1", "kube-system"
    ]  # fmt: skip
    names = [row.name for row in made.revision.files.order_by("position")]
    folder = f"channel.tgz/{top}/" if top else "channel.tgz/"
    assert names == [f"{folder}{name}" for name in ("bootstrap-channel.yaml", "dns/v1.yaml", "web/v1.yaml")]
    assert (made.problems, made.options["field_manager"]) == ([], "kops")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no archive", "channel.tgz is no archive: it is not compressed with gzip"),
        (archive({"README.md": "x"}, ""), "no manifests: files end in"),
        (archive({"../a.yaml": "x"}, ""), "leads out of its folder"),
        (archive(), "channel.tgz is the archive of a Helm chart: to render it, enter its name as the chart"),
    ],
)
def test_archive_without_manifests_is_refused_with_the_reason(as_alice, data, said):
    answer = as_alice.post(URL, fill(manifests=[SimpleUploadedFile("channel.tgz", data)]))

    assert answer.status_code == 422
    assert said in answer.content.decode().replace("<wbr>", "")
