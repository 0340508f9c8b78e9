"""Opening a review: files, folder, paste, link, and problems at once."""

import html
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from applyviz.engine.planning.digest.serialize import options_from_json
from applyviz.records.enums import AuditAction
from applyviz.records.models import AuditEntry, Plan, Review
from applyviz.sources.rendering.job import Rendered
from applyviz.workflow.plans import intake
from tests.web import rows

URL = reverse("reviews:add-review")
CHECK = reverse("reviews:check-source")
GOOD = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: flags\ndata:\n  a: b\n"
BROKEN = GOOD + b"---\nkind: ConfigMap\n  name: [\n"


class _Manifests(BaseHTTPRequestHandler):
    def do_GET(self):
        if not self.path.endswith("flags.yaml"):
            self.send_error(404)
            return
        data = GOOD.replace(b"flags", b"other") if "/other/" in self.path else GOOD
        self.send_response(200)
        self.send_header("Content-Type", "text/yaml")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        """Stay quiet."""


@pytest.fixture
def internal_origin():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Manifests) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def fill(**values):
    form = {"title": "Flags", "cluster": "shop", "namespace": "shop", "mode": "server", "field_manager": "ci"}
    return form | values


def test_form_is_there_for_authors_alone(as_alice, as_viewer, as_charlie):
    assert [browser.get(URL).status_code for browser in (as_alice, as_viewer, as_charlie)] == [200, 403, 404]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n---\n", "kind: List\napiVersion: v1\nitems: []\n"])
def test_manifests_without_an_object_are_named(as_alice, text):
    rows.make_cluster()
    pages = [
        as_alice.post(address, fill(**form))
        for address in (URL, CHECK)
        for form in ({"manifests": [SimpleUploadedFile("empty.yaml", text.encode())]}, {"text": text or "# none"})
    ]

    assert [answer.status_code for answer in pages] == [422, 422, 200, 200]
    assert Review.objects.count() == 0
    assert [re.findall(r"<li>\s*<code>(.*?)</code>: (There is no object here)", a.content.decode()) for a in pages] == [
        [(name, "There is no object here")] for name in ("empty.yaml", "pasted.yaml") * 2
    ]


def test_files_open_a_review(as_alice):
    rows.make_cluster()

    answer = as_alice.post(URL, fill(manifests=[SimpleUploadedFile("flags.yaml", GOOD)], reason="why", ticket="OPS-1"))

    review = Review.objects.get()
    assert answer.headers["Location"] == reverse("reviews:show-review", args=[review.number])
    assert (review.title, review.reason, review.ticket) == ("Flags", "why", "OPS-1")
    assert list(Plan.objects.values_list("revision__files__name", flat=True)) == ["flags.yaml"]


def test_paths_of_a_folder_are_kept(as_alice):
    rows.make_cluster()
    uploads = [SimpleUploadedFile("a.yaml", GOOD), SimpleUploadedFile("b.yaml", GOOD.replace(b"flags", b"more"))]

    as_alice.post(URL, fill(manifests=uploads, paths=json.dumps(["base/a.yaml", "base/deep/b.yaml"])))

    names = list(Plan.objects.values_list("revision__files__name", flat=True))
    assert sorted(names) == ["base/a.yaml", "base/deep/b.yaml"]


def test_paste_opens_a_review_with_the_chosen_options(as_alice):
    rows.make_cluster()

    as_alice.post(URL, fill(text=GOOD.decode(), mode="client", field_manager="kubectl"))

    options = Plan.objects.get().options
    assert (options["mode"], options["field_manager"], options["namespace"]) == ("client", "kubectl", "shop")


def test_broken_document_does_not_stop_the_others(as_alice):
    rows.make_cluster()

    answer = as_alice.post(URL, fill(text=BROKEN.decode()))

    assert answer.status_code == 302
    assert Review.objects.count() == 1


def test_nothing_but_broken_documents_is_told_with_the_place(as_alice):
    rows.make_cluster()

    answer = as_alice.post(URL, fill(text="kind: ConfigMap\n  name: [\n"))

    page = answer.content.decode()
    assert answer.status_code == 422
    assert "<code>pasted.yaml:" in page
    assert Review.objects.count() == 0


def test_form_without_manifests_is_refused(as_alice):
    rows.make_cluster()

    answer = as_alice.post(URL, fill())

    assert answer.status_code == 422
    assert "Add at least one manifest" in answer.content.decode()


def test_link_must_be_https(as_alice):
    rows.make_cluster()

    answer = as_alice.post(URL, fill(links="http://example.org/a.yaml"))

    page = answer.content.decode()
    assert "Only HTTPS URLs are supported, upload the files instead: http://example.org/a.yaml" in page


def test_each_refused_link_is_named(as_alice):
    rows.make_cluster()

    page = as_alice.post(
        URL, fill(links="ftp://a.example/x\nhttps://b.example/y\njavascript:alert(1)")
    ).content.decode()

    assert set(re.findall(r"the files instead: ([^<]+)<", page)) == {"ftp://a.example/x", "javascript:alert(1)"}


def test_too_many_links_are_refused(as_alice):
    rows.make_cluster()

    links = "\n".join(f"https://a.example/{n}" for n in range(21))

    assert "Enter at most 20 links." in as_alice.post(URL, fill(links=links)).content.decode()


def test_check_lists_objects_and_problems(as_alice):
    answer = as_alice.post(CHECK, {"text": BROKEN.decode()})

    fragment = answer.content.decode()
    assert "1 object found" in fragment
    assert "1 problem in the manifests" in fragment
    assert "<html" not in fragment


def test_form_and_check_say_what_becomes_of_an_invalid_document(as_alice):
    form, found = as_alice.get(URL), as_alice.post(CHECK, {"text": BROKEN.decode()})

    assert "Invalid documents are listed; while there are any, the plan can't be approved." in form.content.decode()
    assert "can't be approved until these are fixed or removed" in found.content.decode()


def test_label_that_is_no_text_is_named_with_what_to_do(as_alice):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    public: y\n"

    found = as_alice.post(CHECK, {"text": text}).content.decode()

    assert "<code>pasted.yaml:6:5</code>: `y` is read as true: quote it" in found
    assert found.index("kubectl message") < found.index("json: cannot unmarshal bool")


def test_check_of_an_empty_form_says_nothing(as_alice):
    assert as_alice.post(CHECK).content == b""


def test_check_is_refused_for_viewers_and_by_get(as_viewer, as_alice):
    assert (as_viewer.post(CHECK).status_code, as_alice.get(CHECK).status_code) == (403, 405)


def test_link_to_an_allowed_origin_is_fetched_and_frozen(as_alice, settings, internal_origin):
    rows.make_cluster()
    settings.APPLYVIZ_LINK_HOSTS = (internal_origin,)

    answer = as_alice.post(URL, fill(links=f"{internal_origin}/flags.yaml"))

    assert answer.status_code == 302
    file = Plan.objects.get().revision.files.get()
    assert (file.name, file.provenance["url"]) == ("flags.yaml", f"{internal_origin}/flags.yaml")
    requested = AuditEntry.objects.get(action=AuditAction.PLAN_REQUESTED)
    assert requested.detail["links"] == [f"{internal_origin}/flags.yaml"]


def test_several_links_are_fetched_once_each_under_names_of_their_own(as_alice, settings, internal_origin):
    rows.make_cluster()
    settings.APPLYVIZ_LINK_HOSTS = (internal_origin,)
    links = [f"{internal_origin}/{path}" for path in ("flags.yaml", "other/flags.yaml", "flags.yaml")]

    answer = as_alice.post(URL, fill(links="\r\n".join(links)))

    assert answer.status_code == 302
    names = list(Plan.objects.get().revision.files.order_by("position").values_list("name", flat=True))
    assert names == ["flags.yaml", "127.0.0.1/other/flags.yaml"]


def test_every_link_that_fails_is_named_with_its_reason(as_alice, settings, internal_origin):
    rows.make_cluster()
    settings.APPLYVIZ_LINK_HOSTS = (internal_origin, "http://127.0.0.1:9")
    links = ("http://127.0.0.1:9/a.yaml", f"{internal_origin}/flags.yaml", f"{internal_origin}/gone.yaml?token=canary")

    answer = as_alice.post(URL, fill(links="\n".join(links)))

    shown = answer.content.decode()
    assert (answer.status_code, Review.objects.count()) == (422, 0)
    assert "nothing could be fetched from 127.0.0.1" in shown
    assert "127.0.0.1 answered 404: check the link" in shown
    assert f"{internal_origin}/gone.yaml" in shown[shown.index('id="found"') :]
    assert "canary" not in shown[shown.index('id="found"') :]
    assert "\n".join(links) in html.unescape(shown)  # the form keeps them


def test_link_into_the_own_network_is_refused_without_telling_why(as_alice, internal_origin):
    rows.make_cluster()

    answer = as_alice.post(URL, fill(links=f"{internal_origin}/flags.yaml".replace("http:", "https:")))

    assert answer.status_code == 422
    assert Review.objects.count() == 0


@pytest.fixture
def renderer(monkeypatch):
    """A program in place of kustomize: it prints a ConfigMap."""

    def run(job, limits):
        files = dict(job.files)
        assert "shop/base/settings.properties" in files
        assert f"{job.arguments[0][2:]}/kustomization.yaml" in files
        return Rendered(0, b"{apiVersion: v1, kind: ConfigMap, metadata: {name: rendered}}\n", "")

    monkeypatch.setattr(intake, "make_runner", lambda socket: run)


def bring_kustomization(**values):
    files = {
        "shop/base/kustomization.yaml": b"configMapGenerator: [{name: a, envs: [settings.properties]}]\n",
        "shop/base/settings.properties": b"a=b\n",
        "shop/prod/kustomization.yaml": b"resources: [../base]\n",
    }
    uploads = [SimpleUploadedFile(name.rpartition("/")[2], data) for name, data in files.items()]
    return fill(folder=uploads, paths=json.dumps(list(files)), **values)


def test_kustomization_is_rendered(as_alice, renderer):
    rows.make_cluster()

    as_alice.post(URL, bring_kustomization(kustomization="shop/prod/"))

    revision = Plan.objects.get().revision
    file = revision.files.get()
    assert (file.name, file.provenance["from"], file.provenance["folder"]) == (
        "shop/prod.rendered.yaml",
        "kustomize",
        "shop/prod",
    )


def test_kustomization_that_is_not_named_is_told(as_alice):
    rows.make_cluster()

    page = as_alice.post(CHECK, bring_kustomization()).content.decode()

    assert "To render it, enter shop/prod as the kustomization folder" in page
    assert "To render it, enter shop/base as the kustomization folder" in page


def test_folder_without_kustomization_is_refused(as_alice, renderer):
    rows.make_cluster()

    page = as_alice.post(CHECK, bring_kustomization(kustomization="shop/dev")).content.decode()

    assert "shop/dev" in page
    assert Plan.objects.count() == 0


def test_kustomization_needs_a_folder(as_alice):
    rows.make_cluster()

    page = as_alice.post(URL, fill(text=GOOD.decode(), kustomization="shop/prod")).content.decode()

    assert "Upload the folder that contains it above, or enter its repository." in page


@pytest.mark.parametrize(
    ("given", "moves", "others"),
    [
        ({}, False, ()),
        ({"takes_client_side": "on"}, True, ()),
        ({"takes_client_side": "on", "takes_from": "helm, kubectl-edit helm"}, True, ("helm", "kubectl-edit")),
    ],
)
def test_ownership_that_moves_first_is_chosen_in_the_form(as_alice, given, moves, others):
    rows.make_cluster()
    as_alice.post(URL, fill(text=GOOD.decode(), **given))

    options = options_from_json(Plan.objects.get().options)
    assert (options.takes_client_side, options.takes_from) == (moves, others)


def test_ownership_of_client_side_apply_is_chosen_before_anybody_asks(as_alice):
    page = as_alice.get(URL).content.decode()

    (box,) = re.findall(r'<input[^>]*name="takes_client_side"[^>]*>', page)
    assert " checked" in box


def test_form_chooses_what_may_be_replaced_and_how_objects_are_deleted(as_alice):
    rows.make_cluster()
    chosen = {"replace": "batch/Job core/Service", "propagation": "Foreground", "deletion_seconds": "300"}

    answer = as_alice.post(URL, fill(text=GOOD.decode(), **chosen))

    assert answer.status_code == 302
    options = options_from_json(Plan.objects.get().options)
    assert options.replacement.kinds == ("batch/Job", "core/Service")
    assert (options.propagation.value, options.deletion_seconds) == ("Foreground", 300)


def test_form_names_what_is_no_kind(as_alice):
    rows.make_cluster()
    answer = as_alice.post(URL, fill(text=GOOD.decode(), replace="job"))

    assert answer.status_code == 422
    assert "job is no kind such as batch/Job" in answer.content.decode()
