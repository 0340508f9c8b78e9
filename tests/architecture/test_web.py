"""Every address asks who is there, and pages change nothing but through a use case."""

import ast
import re

import pytest
from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from tests.architecture.tracked import ROOT, files_below, parse

# Reached without an account: the doors themselves.
PUBLIC = {"login", "login-demo", "logout", "claim", "set-language", "health", "take-push"}
# Answers by a bearer token of its own, not by a session.
BY_TOKEN = ("sandboxes/", "api/")
SAMPLES = {"int": "1", "slug": "x", "str": "x", "path": "x", "uuid": "00000000-0000-0000-0000-000000000000"}
# Who calls these needs a key that opens; a web process of a team holds none.
OPENING = {
    *("open_bytes", "open_json", "open_sealed", "open_sealed_core", "open_reader", "open_transport", "open_sandbox"),
    *("compare_secrets", "prepare_revert", "prepare_adoption", "prepare_upload"),
    *(
        "add_live_cluster",
        "create_sandbox",
        "make_kubeconfig",
        "read_facts",
        "verify_plan",
        "scan_cluster",
        "scan_whole_cluster",
        "make_plan",
    ),
}
WRITES = {"create", "save", "update", "delete", "get_or_create", "update_or_create", "bulk_create", "bulk_update"}


def addresses(patterns=None, prefix=""):
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        assert isinstance(entry.pattern, RoutePattern), "addresses are routes, so that this test can fill them"
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from addresses(entry.url_patterns, route)
        elif isinstance(entry, URLPattern):
            yield route, entry.name or ""


# Open to visitors where the operator says so; closed here, so that all addresses are tried alike.
@pytest.fixture(autouse=True)
def _close_what_may_be_public(settings):
    settings.APPLYVIZ_PUBLIC_PLAYGROUND = False


def private_addresses():
    for route, name in addresses():
        if name not in PUBLIC and not route.startswith(BY_TOKEN):
            yield "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda found: SAMPLES[found[1] or "str"], route)


OWN = ("/account/", "/reauthenticate/")
"""Everybody who is signed in has an account, a role or none."""


@pytest.mark.django_db
def test_addresses_turn_visitors_away(client):
    found = sorted(set(private_addresses()))

    answers = {(path, method): getattr(client, method)(path) for path in found for method in ("get", "post")}
    let_in = {
        key: answer.status_code
        for key, answer in answers.items()
        if answer.status_code not in (401, 403, 404, 405)
        and not answer.headers.get("Location", "").startswith("/login")
    }

    assert len(found) > 5
    assert let_in == {}


@pytest.mark.django_db
def test_addresses_tell_outsiders_nothing(client):
    client.force_login(User.objects.create_user("charlie"))

    answers = {
        (path, method): getattr(client, method)(path)
        for path in sorted(set(private_addresses()))
        for method in ("get", "post")
        if not path.startswith(OWN)
    }

    assert {key: a.status_code for key, a in answers.items() if a.status_code not in (404, 405)} == {}


def test_pages_write_no_record():
    found = []
    for path in files_below("applyviz/web", ".py"):
        if "management" in path.parts:
            continue
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
                receiver = ast.unparse(node.func.value)
                if node.func.attr == "save" or ".objects" in receiver:
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {receiver}.{node.func.attr}")

    assert found == []


def test_pages_open_nothing():
    found = []
    for path in files_below("applyviz/web", ".py"):
        if "management" in path.parts:
            continue
        for node in ast.walk(parse(path)):
            if not isinstance(node, ast.Attribute | ast.Name):
                continue
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in OPENING:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {name}")

    assert found == []


READS = {"read", "open", "read_bytes", "read_text", "chunks", "get_or_create", "aggregate"}
"""Calls on files and tables. A form may be given a queryset to choose from; what it reads, its view reads."""
WORK = {"read_manifests", "read_source", "read_files", "fetch"}


def find_forms():
    found = (path for path in files_below("applyviz/web", ".py") if "forms" in (path.stem, path.parent.name))
    return sorted(found)


@pytest.mark.parametrize("path", find_forms(), ids=lambda path: str(path.relative_to(ROOT)))
def test_forms_read_no_files_and_no_tables(path):
    found = []
    for node in ast.walk(parse(path)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        receiver = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        is_file = name in READS and "objects" not in receiver and not receiver.startswith(("cls", "self", "form"))
        if name in WORK or is_file or (".objects" in receiver and name != "none"):
            found.append(f"{node.lineno}: {receiver}.{name}")

    assert found == []


def test_there_are_forms():
    assert len(find_forms()) > 10


# Pages get rows and results as their reader may see them from `live_values`. Why these may query some themselves:
QUERIES = {
    "history/pages/object_timeline.py": "shows each row and result for its reader, plan by plan",
    "reviews/pages/acknowledgments.py": "the risks of objects that are not hidden",
    "reviews/pages/addons/tab.py": "names of objects and addons",
    "reviews/pages/addons/table.py": "names of objects and addons",
    "reviews/pages/change_record.py": "the outcomes of objects that are not hidden",
    "reviews/pages/others.py": "positions of records",
    "reviews/pages/plan_events.py": "a number of objects",
    "reviews/pages/request_archive.py": "shows the rows, a hundred at a time",
    "reviews/pages/review_header.py": "whether there are workloads",
    "reviews/pages/search/field_lines.py": "lines of all objects, of which each reader searches their own",
    "reviews/pages/search/in_reviews.py": "no Secret that is compared with live",
    "reviews/pages/sources/visitor_chain.py": "names of objects and files",
    "reviews/pane/resolutions.py": "a number, without the hidden ones",
    "runs/pages/run_events.py": "without the hidden ones",
    "runs/pages/run_rows.py": "numbers of outcomes, in lists of runs",
    "search/pages.py": "names of objects",
    "api/responses.py": "shows the rows and results, some at a time",
    "api/views.py": "a number of objects",
}


QUERY = re.compile(r"(\b(plan|found|run)\.(changes|results)|\bObject(Change|Result)\.objects)\.\w+$")


def queries_rows(tree):
    return any(QUERY.search(ast.unparse(node)) for node in ast.walk(tree) if isinstance(node, ast.Attribute))


def test_pages_read_rows_as_their_reader_may_see_them():
    room = ROOT / "applyviz" / "web"

    found = {str(path.relative_to(room)) for path in files_below("applyviz/web", ".py") if queries_rows(parse(path))}

    assert found == set(QUERIES)
