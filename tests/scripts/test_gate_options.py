"""What the flags of the gate ask of the API."""

import io
import json

import pytest

from scripts import gate

SEEN = {"seen": 3}


class Api:
    """Keeps what it is asked to open; plan 3 is the latest of each review."""

    def __init__(self) -> None:
        self.body = {}

    def get(self, _path, **_query):
        return {"plan": 3}

    def post(self, path, body):
        self.body = body
        return {"review": {"number": 1}}


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        ([], {}),
        (["--prune", "-l", "app=a"], {"prune": "allowlist", "selector": "app=a"}),
        (
            ["--prune", "--all", "--prune-allowlist", "core/v1/Secret", "--prune-allowlist", "apps/v1/Deployment"],
            {"prune": "allowlist", "prune_all": "true", "prune_allowlist": "core/v1/Secret,apps/v1/Deployment"},
        ),
        (["--prune", "--applyset", "secrets/set"], {"prune": "applyset", "applyset": "secrets/set"}),
        (["--applyset", "secrets/set"], {"applyset": "secrets/set"}),
        (
            ["--prune", "--all", "--prune-except", "core/Secret", "--prune-except", "core/Namespace"],
            {"prune": "allowlist", "prune_all": "true", "prune_except": "core/Secret,core/Namespace"},
        ),
    ],
)
def test_prune_flags_are_sent(tmp_path, flags, asked):
    file = tmp_path / "a.yaml"
    file.write_text("kind: ConfigMap")
    api = Api()

    gate._open_review(api, gate._read_arguments([str(file), "--cluster", "c", "--title", "t", *flags]))

    names = ("prune", "selector", "prune_all", "prune_allowlist", "prune_except", "applyset")
    assert {name: value for name, value in api.body.items() if name in names} == asked


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        ([], None),
        (["--delete"], "delete"),
        (["--operation", "set-last-applied"], "set-last-applied"),
        (["--operation", "clear-managed-fields"], "clear-managed-fields"),
    ],
)
def test_delete_flag_is_sent(tmp_path, flags, asked):
    file = tmp_path / "a.yaml"
    file.write_text("kind: ConfigMap")
    api = Api()

    gate._open_review(api, gate._read_arguments([str(file), "--cluster", "c", "--title", "t", *flags]))

    assert api.body.get("operation") == asked


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        ([], None),
        (["--replace", "batch/Job"], "batch/Job"),
        (["--replace", "batch/Job", "--replace", "core/Service/shop/web"], "batch/Job\ncore/Service/shop/web"),
    ],
)
def test_objects_to_replace_are_sent(tmp_path, flags, asked):
    file = tmp_path / "a.yaml"
    file.write_text("kind: ConfigMap")
    api = Api()

    gate._open_review(api, gate._read_arguments([str(file), "--cluster", "c", "--title", "t", *flags]))

    assert api.body.get("replace") == asked


def test_links_are_sent_without_files_too():
    api = Api()
    links = ["https://a.example/x.yaml", "https://b.example/y.yaml"]

    gate._open_review(
        api, gate._read_arguments(["--cluster", "c", "--title", "t", "--link", links[0], "--link", links[1]])
    )

    assert (api.body["links"], "files" in api.body) == (links, False)


def test_repository_is_sent_without_files_too():
    api = Api()
    given = ["--cluster", "c", "--title", "t", "--git", "https://h/o/r", "--git-ref", "main", "--git-path", "deploy"]

    gate._open_review(api, gate._read_arguments(given))

    sent = {name: value for name, value in api.body.items() if name.startswith("git") or name == "files"}
    assert sent == {"git_repository": "https://h/o/r", "git_ref": "main", "git_path": "deploy"}


def test_review_without_manifests_is_not_asked_for():
    with pytest.raises(gate.GateError, match="files, links, a git repository or a chart"):
        gate._open_review(Api(), gate._read_arguments(["--cluster", "c", "--title", "t"]))


MOVES = {
    "hand_over": "apps/Deployment/shop/web .spec.replicas\napps/Deployment/shop/api .spec.replicas",
    "hand_over_to": "scaler",
    "take_from": "helm, kubectl-edit",
}
MOVE_FLAGS = [
    *(
        "--hand-over",
        "apps/Deployment/shop/web .spec.replicas",
        "--hand-over",
        "apps/Deployment/shop/api .spec.replicas",
    ),
    *("--hand-over-to", "scaler", "--take-from", "helm, kubectl-edit"),
]


def test_moves_of_ownership_are_sent_with_a_new_review_and_as_the_next_plan_of_one(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("kind: ConfigMap")
    api, again = Api(), Api()
    taken = ["--take-fields", "apps/Deployment/shop/web .spec.paused"]

    gate._open_review(api, gate._read_arguments([str(file), "--cluster", "c", "--title", "t", *MOVE_FLAGS]))
    gate._open_review(again, gate._read_arguments(["--review", "7", *MOVE_FLAGS, *taken]))

    assert {name: api.body.get(name) for name in MOVES} == MOVES
    assert again.body == MOVES | SEEN | {"take_fields": "apps/Deployment/shop/web .spec.paused"}


LEFT_OUT = {"leave_out": "batch/Job/shop/a\ncore/Secret/shop/b", "leave_out_reason": "later"}
FLAGS = ["--leave-out", "batch/Job/shop/a", "--leave-out", "core/Secret/shop/b", "--leave-out-reason", "later"]


def test_objects_to_leave_out_are_sent_with_a_new_review(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("kind: ConfigMap")
    api = Api()

    gate._open_review(api, gate._read_arguments([str(file), "--cluster", "c", "--title", "t", *FLAGS]))

    assert LEFT_OUT.items() <= api.body.items()


def test_next_plan_of_a_review_leaves_objects_out():
    api = Api()

    assert gate._open_review(api, gate._read_arguments(["--review", "7", *FLAGS])) == 7
    assert api.body == LEFT_OUT | SEEN

    api = Api()
    gate._open_review(api, gate._read_arguments(["--review", "7"]))
    assert api.body == {}


def test_addons_that_are_planned_anyway_are_sent_with_a_review_and_its_next_plan(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text("kind: Addons")
    first, following = Api(), Api()
    flags = ["--addons-anyway", "dns.addons.k8s.io", "--addons-anyway", "web"]

    gate._open_review(first, gate._read_arguments([str(file), "--cluster", "c", "--title", "t", *flags]))
    gate._open_review(following, gate._read_arguments(["--review", "7", *flags]))

    assert first.body["addons_anyway"] == "dns.addons.k8s.io\nweb"
    assert following.body == SEEN | {"addons_anyway": "dns.addons.k8s.io\nweb"}


def test_addons_of_a_channel_are_printed_with_their_reason():
    out = io.StringIO()
    addon = {"name": "dns", "decision": "skip", "why": "Installed: same id and manifest.", "notes": ["Needs a CA."]}
    plan = {
        "plan": 1,
        "review": {"number": 7},
        "url": "u",
        "cluster": "c",
        "namespace": "n",
        "identity": "i",
        "mode": "server",
        "source": {"text": "2 files uploaded; 1 file from localhost"},
        "addons": [addon],
        "sentence": "Nothing to apply",
        "impact": [],
        "problems": [],
        "digest": "d",
    }

    gate.print_plan(plan, [], out)

    assert "From 2 files uploaded; 1 file from localhost\n" in out.getvalue()
    assert "Addon dns: skip. Installed: same id and manifest. Needs a CA.\nNothing to apply\n" in out.getvalue()


def test_chart_and_its_values_are_sent(tmp_path):
    (tmp_path / "shop-1.2.3.tgz").write_bytes(b"\x1f\x8b")
    (tmp_path / "prod.yaml").write_text("color: red")
    api = Api()
    flags = ["--chart", "shop-1.2.3.tgz", "--chart-release", "web", "--values", str(tmp_path / "prod.yaml")]

    gate._open_review(
        api, gate._read_arguments([str(tmp_path / "shop-1.2.3.tgz"), "--cluster", "c", "--title", "t", *flags])
    )

    assert api.body["files"] == [
        {"name": "shop-1.2.3.tgz", "base64": "H4s="},
        {"name": "values-files/1/prod.yaml", "content": "color: red"},
    ]
    sent = {name: value for name, value in api.body.items() if name.startswith("chart")}
    assert sent == {
        "chart": "shop-1.2.3.tgz",
        "chart_release": "web",
        "chart_values_files": "values-files/1/prod.yaml",
    }


def test_chart_of_a_registry_needs_no_files():
    api = Api()
    flags = ["--chart", "oci://registry.example/shop", "--chart-version", "1.2.3", "--chart-hooks"]

    gate._open_review(api, gate._read_arguments(["--cluster", "c", "--title", "t", *flags]))

    assert (api.body["chart_version"], api.body["chart_hooks"]) == ("1.2.3", "apply")
    assert "files" not in api.body


def test_patch_flags_are_sent(tmp_path):
    file = tmp_path / "patch.json"
    file.write_text('{"data": {"a": "2"}}')
    given = ["--patch", "--patch-objects", "cm/a,cm/b", "--patch-type", "merge"]
    api = Api()

    gate._open_review(api, gate._read_arguments([*given, "--patch-file", str(file), "--cluster", "c", "--title", "t"]))

    names = ("operation", "patch_objects", "patch_type", "patch", "files")
    assert {name: value for name, value in api.body.items() if name in names} == {
        "operation": "patch", "patch_objects": "cm/a,cm/b", "patch_type": "merge", "patch": '{"data": {"a": "2"}}',
    }  # fmt: skip


def test_preset_stands_for_cluster_title_and_options(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: ConfigMap")
    (tmp_path / "logo.png").write_bytes(b"\x89PNG")
    api = Api()

    gate._open_review(api, gate._read_arguments([str(tmp_path), "--preset", "shop"]))

    assert api.body == {
        "preset": "shop",
        "files": [{"name": "a.yaml", "content": "kind: ConfigMap"}, {"name": "logo.png", "base64": "iVBORw=="}],
    }


def test_lists_of_patches_and_moves_come_from_files(tmp_path):
    moves = [{"what": "take", "target": "Deployment/shop/web", "fields": [".spec.paused"]}]
    patches = [{"target": "ConfigMap/shop/a", "type": "merge", "patch": "data: {a: '2'}"}]
    for name, entries in (("moves.json", moves), ("patches.json", patches)):
        (tmp_path / name).write_text(json.dumps(entries))
    target = ["--cluster", "c", "--title", "t"]
    new, patched, again = Api(), Api(), Api()

    gate._open_review(new, gate._read_arguments(["--moves", str(tmp_path / "moves.json"), *target]))
    gate._open_review(patched, gate._read_arguments(["--patches", str(tmp_path / "patches.json"), *target]))
    gate._open_review(again, gate._read_arguments(["--review", "7", "--moves", str(tmp_path / "moves.json")]))

    assert (new.body["moves"], patched.body["patches"], again.body) == (moves, patches, {"moves": moves} | SEEN)


def test_list_that_is_not_json_is_an_error(tmp_path, monkeypatch, capsys):
    (tmp_path / "moves.json").write_text("[{")
    monkeypatch.setenv("APPLYVIZ_TOKEN", "token")

    status = gate.main(["--url", "https://h", "--review", "7", "--moves", str(tmp_path / "moves.json")])

    assert status == gate.NOT_ASKED
    assert "the list is not JSON" in capsys.readouterr().err


def test_chart_and_values_of_a_repository_are_named(tmp_path):
    (tmp_path / "own.yaml").write_text("color: red")
    api = Api()
    flags = ["--git", "https://h/o/r", "--chart", "deploy/shop", "--git-values", "values/prod.yaml"]

    gate._open_review(
        api, gate._read_arguments(["--cluster", "c", "--title", "t", *flags, "--values", str(tmp_path / "own.yaml")])
    )

    assert (api.body["git_repository"], api.body["chart"]) == ("https://h/o/r", "deploy/shop")
    assert api.body["chart_values_files"] == "values/prod.yaml\nvalues-files/1/own.yaml"


class ReviewedApi:
    """Answers for one review whose plan has this status, and keeps whom it is asked to ask."""

    def __init__(self, status: str) -> None:
        self.asked = []
        self.plan = {
            "plan": 1, "review": {"number": 7}, "url": "u", "mode": "server", "cluster": "c", "namespace": "n",
            "identity": "i", "sentence": "s", "impact": [], "problems": [], "digest": "d", "objects": [],
            "objects_in_all": 0, "status": status, "status_text": status, "error": "", "mark": "m", "approvals": {},
            "blockers": [],
        }  # fmt: skip

    def get(self, _path, **_query):
        return self.plan

    def post(self, path, body, *, is_repeatable=False):
        assert is_repeatable, "the same names may be asked twice"
        self.asked.append((path, body))
        return {}


@pytest.mark.parametrize(
    ("status", "flags", "asked"),
    [
        ("needs-approval", ["--reviewer", "bob", "--reviewer", "eve"], ["bob", "eve"]),
        ("blocked", ["--reviewer", "bob"], ["bob"]),
        ("needs-approval", [], None),
        ("nothing-to-apply", ["--reviewer", "bob"], None),
        ("plan-failed", ["--reviewer", "bob"], None),
    ],
)
def test_named_reviewers_are_asked_once_there_is_something_to_approve(monkeypatch, status, flags, asked):
    api = ReviewedApi(status)
    monkeypatch.setenv("APPLYVIZ_TOKEN", "token")
    monkeypatch.setattr(gate, "Api", lambda *_given, **_more: api)

    gate.main(["--url", "https://h", "--review", "7", "--plan-only", *flags], io.StringIO())

    assert api.asked == ([("reviews/7/reviewers/", {"reviewers": asked})] if asked else [])


def test_request_that_may_be_repeated_is_sent_again_when_its_answer_is_lost(monkeypatch):
    sent = []

    def send(_api, path, body):
        sent.append((path, body))
        if len(sent) == 1:
            raise ConnectionResetError("reset")
        return {"requested_reviewers": []}

    monkeypatch.setattr(gate.Api, "_send", send)
    api = gate.Api("https://h", "token", sleep=lambda _seconds: None)

    assert api.post("reviews/7/reviewers/", {"reviewers": ["bob"]}, is_repeatable=True) == {"requested_reviewers": []}
    assert len(sent) == 2
    sent.clear()
    with pytest.raises(gate.LostError):
        api.post("reviews/", {})
