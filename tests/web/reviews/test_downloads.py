"""Files that a page of an object offers, and the archive of all requests of a plan."""

import io
import json
import subprocess
import zipfile

import pytest
from django.urls import reverse

from applyviz.engine.objects.exchange import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Placeholder, Request
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation
from tests.web import builders, rows


def get(browser, plan, name):
    return browser.get(reverse("reviews:show-file", args=[plan.review.number, plan.number, 0, name]))


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("manifest.yaml", "apiVersion: apps/v1\n"),
        ("live.yaml", "apiVersion: apps/v1\n"),
        ("request-1.yaml", "apiVersion: apps/v1\n"),
        ("request-1.sh", "curl --request PATCH"),
        ("kubectl.sh", "kubectl apply --server-side"),
    ],
)
def test_file_is_offered_by_its_name(as_viewer, plan, name, beginning):
    answer = get(as_viewer, plan, name)

    assert answer.content.decode().startswith(beginning)
    assert answer["Content-Disposition"] == f'attachment; filename="deployment-frontend-{name}"'
    assert answer["Content-Type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("name", ["request-0.yaml", "request-9.yaml", "last_applied.yaml", "sealed.yaml", "versions"])
def test_what_is_no_file_is_not_found(as_viewer, plan, name):
    assert get(as_viewer, plan, name).status_code == 404


def test_outsider_sees_no_file(as_charlie, plan):
    assert get(as_charlie, plan, "manifest.yaml").status_code == 404


def _write(name, *requests, kind="ConfigMap", operation=Operation.UPDATE):
    change = replace(builders.build_change(), operation=operation, conflicts=(), risks=(), requests=requests)
    gvk = change.ref.gvk._replace(
        kind=kind, **({"group": "", "version": "v1"} if kind in ("ConfigMap", "Secret") else {})
    )
    return replace(change, ref=change.ref._replace(name=name, gvk=gvk))


def _patch(path, content_type, body, *placeholders):
    return Request(
        "PATCH", path, {"fieldManager": "ci"}, content_type, body, purpose="patch", placeholders=placeholders
    )


@pytest.fixture
def archived(alice):
    """A plan with every kind of write."""
    bound = Placeholder(("f:metadata", "f:resourceVersion"), "resourceVersion")
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"password": "\u27eamasked 0123\u27eb"}}
    return rows.make_plan(
        alice,
        [
            _write("new", Request("POST", "/new", {"fieldManager": "ci"}, "application/json", {"kind": "ConfigMap"})),
            _write("it's", _patch("/p", STRATEGIC_MERGE_PATCH, {"metadata": {"resourceVersion": None}, "a": 1}, bound)),
            _write("merged", _patch("/m", MERGE_PATCH, {"b": None}), kind="Deployment"),
            _write("gone", Request("DELETE", "/d", {}, "application/json", {"propagationPolicy": "Foreground"})),
            _write("hidden", _patch("/s", MERGE_PATCH, secret), kind="Secret", operation=Operation.CREATE),
            _write(
                "moved", _patch("/j", JSON_PATCH, [{"op": "replace"}], Placeholder(("i:0", "f:value"), "managedFields"))
            ),
            builders.build_change(),
        ],
    )


def open_archive(browser, plan):
    answer = browser.get(reverse("reviews:keep-requests", args=[plan.review.number, plan.number]))
    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        files = {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
        modes = {name.partition("/")[2]: archive.getinfo(name).external_attr >> 16 for name in archive.namelist()}
    return files, modes


def test_all_requests_of_a_plan_are_one_archive(as_viewer, archived, tmp_path):
    files, modes = open_archive(as_viewer, archived)

    assert sorted(files) == [
        "README.txt",
        "replay.sh",
        "requests.jsonl",
        "requests/0001-1-configmap-new.yaml",
        "requests/0002-1-configmap-it-s.yaml",
        "requests/0003-1-deployment-merged.yaml",
    ]
    assert files["requests/0002-1-configmap-it-s.yaml"] == "a: 1\n"
    assert [json.loads(line)["filledWhenSent"] for line in files["requests.jsonl"].splitlines()][1] == [
        "resourceVersion"
    ]
    assert "Replayable: 4; left out: 3 (reasons in replay.sh)" in files["README.txt"]
    assert modes["replay.sh"] == 0o755


def test_script_sends_what_can_be_sent_and_nothing_else(as_viewer, archived, tmp_path):
    files, _modes = open_archive(as_viewer, archived)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\nfor word; do printf "%s|" "$word"; done; echo\n')
    kubectl.chmod(0o755)

    told = subprocess.run(
        ["sh", str(tmp_path / "replay.sh")], env={"KUBECTL": str(kubectl), "PATH": "/usr/bin:/bin"}, capture_output=True
    )

    assert told.stdout.decode().splitlines() == [
        "create|--field-manager=ci|--namespace=shop|--filename=requests/0001-1-configmap-new.yaml|",
        "patch|configmap|it's|--namespace=shop|--type=strategic|--field-manager=ci|"
        "--patch-file=requests/0002-1-configmap-it-s.yaml|",
        "patch|deployment.v1.apps|merged|--namespace=shop|--type=merge|--field-manager=ci|"
        "--patch-file=requests/0003-1-deployment-merged.yaml|",
        "delete|configmap|gone|--namespace=shop|--cascade=foreground|",
    ]
    assert files["replay.sh"].count("left out: its values are masked") == 1


def test_plan_that_is_not_complete_has_no_archive(as_viewer, as_charlie, alice, archived):
    planning = rows.make_plan(alice, [builders.build_change()], state="planning")
    address = reverse("reviews:keep-requests", args=[planning.review.number, planning.number])

    assert as_viewer.get(address).status_code == 404
    assert as_charlie.get(reverse("reviews:keep-requests", args=[archived.review.number, 1])).status_code == 404
