"""Do decisions go home? The patch of each is applied by the real tools, and planning again finds no conflict."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from applyviz.engine.diff.masking import MaskPolicy, is_masked
from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import clone
from applyviz.engine.planning.conflicts.file_edits import EditedText, FileEdit, make_patch, unify
from applyviz.engine.planning.conflicts.resolutions import ResolutionChoice, ResolutionKind
from applyviz.engine.planning.model.plan import Operation
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.planning.objects.previews import preview
from applyviz.engine.requests.options import ApplyOptions
from tests.engine.planning.cluster import Box

TOOLS = {
    "patch": ("patch", "--strip=1", "--fuzz=0", "--input=edit.patch"),
    "git apply": ("git", "apply", "edit.patch"),
}
THEIRS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 5
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: theirs, env: [{name: A, value: theirs}]}
"""
BLOCK = """\
# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # the front
spec:
  # how many
  replicas: 3 # as ever
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - image: ours
          # of the image above
          name: web
          env:
            - value: ours
              name: A
"""
FLOW = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
    "spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},\n"
    "  spec: {containers: [{name: web, image: 'ours', env: [{name: A, value: \"ours\"}]}]}}}\n"
)
ANCHORS = BLOCK.replace("labels: {app: web}\n", "labels: &labels {app: web}\n").replace("image: ours", "image: &i ours")
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {a: b}\n"
JSON_LIKE = (
    '{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {\n'
    '  "replicas": 3,\n  "selector": {"matchLabels": {"app": "web"}},\n  "template": {\n'
    '    "metadata": {"labels": {"app": "web"}},\n    "spec": {"containers": [{"name": "web", "image": "ours", '
    '"env": [{"name": "A", "value": "ours"}]}]}}}}\n'
)
LISTED = (
    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: other}\n"
    + "".join(("- " if n == 0 else "  ") + line + "\n" for n, line in enumerate(BLOCK.splitlines()[1:]))
)
SOURCES = {
    "block style with comments": BLOCK,
    "flow style": FLOW,
    "anchors beside": ANCHORS,
    "several documents": f"{OTHER}---\n{BLOCK}---\n{OTHER.replace('name: other', 'name: third')}",
    "first of several": f"{BLOCK}---\n{OTHER}",
    "a list kind": LISTED,
    "JSON": JSON_LIKE,
    "Windows lines": BLOCK.replace("\n", "\r\n"),
    "no newline at the end": BLOCK.rstrip("\n"),
}
EDITS = [(n, one, tool) for n in SOURCES for one in (ResolutionKind.GIVE_UP, ResolutionKind.SHARE) for tool in TOOLS]


def make_box():
    box = Box()
    box.apply(THEIRS, ApplyOptions(field_manager="other"))
    return box


def plan(box, source, **context):
    found = box.plan(source, sources={"app.yaml": EditedText(source)}, **context).changes
    return next(change for change in found if change.ref.name == "web")


def run_tool(tool, tmp_path, source, patch):
    if shutil.which(TOOLS[tool][0]) is None:
        pytest.skip(f"{tool} is not installed")
    (tmp_path / "app.yaml").write_bytes(source.encode())
    (tmp_path / "edit.patch").write_bytes(patch.encode())
    done = subprocess.run(TOOLS[tool], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr, patch)
    assert "fuzz" not in done.stdout
    return (tmp_path / "app.yaml").read_bytes().decode()


def without_owners(obj):
    obj = clone(obj)
    obj["metadata"].pop("managedFields", None)
    return obj


@pytest.mark.core(12)
@pytest.mark.covering
@pytest.mark.parametrize(("name", "resolution", "tool"), EDITS)
def test_each_patch_ends_its_conflict(tmp_path, name, resolution, tool):
    box, source = make_box(), SOURCES[name]
    change = plan(box, source)
    assert len(change.open_fields) == 3

    for field in change.open_fields:
        chosen = next(w for w in field.options if w.resolution is resolution)
        edited = run_tool(tool, tmp_path, source, chosen.patch.text)
        again = plan(box, edited)

        assert field.path not in [c.path for c in again.conflicts]
        assert len(again.conflicts) == 2
        assert (
            edited.splitlines()[chosen.patch.position.line - 1 :]
            != source.splitlines()[chosen.patch.position.line - 1 :]
        )


@pytest.mark.core(12)
@pytest.mark.parametrize(("name", "resolution", "tool"), EDITS)
def test_patched_source_plans_the_same_as_the_decisions(tmp_path, name, resolution, tool):
    box, source = make_box(), SOURCES[name]
    first = plan(box, source)
    decisions = {first.ref.key: tuple(preview_decisions(first, resolution))}

    decided = plan(box, source, decisions=decisions)
    again = plan(box, run_tool(tool, tmp_path, source, decided.patch.text))

    assert (decided.operation, again.conflicts) == (again.operation, ())
    assert without_owners(decided.versions.after) == without_owners(again.versions.after)
    assert [r.body for r in decided.requests] == [r.body for r in again.requests]


def preview_decisions(change, resolution):
    return [ResolutionChoice(f.path, manager, resolution) for f in change.open_fields for manager in f.managers]


@pytest.mark.parametrize("names", [["GIVE_UP"] * 3, ["OVERWRITE", "GIVE_UP", "SHARE"], ["OVERWRITE"] * 3])
def test_preview_is_what_the_next_plan_sends(names):
    box = make_box()
    first = plan(box, BLOCK)
    chosen = {f.path: ResolutionKind[name] for f, name in zip(first.open_fields, names, strict=True)}

    shown = preview(first, chosen)
    alone = [(replace(first, open_fields=(f,)), chosen[f.path]) for f in first.open_fields]
    decided = plan(box, BLOCK, decisions={first.ref.key: tuple(d for one in alone for d in preview_decisions(*one))})

    assert shown.still_open == ()
    assert [shown.request.body] == [r.body for r in decided.requests] or decided.operation is Operation.UNCHANGED
    assert [shown.request.query] == [r.query for r in decided.requests] or decided.operation is Operation.UNCHANGED
    owners = {reason.path: reason.owners_after for reason in decided.fields}
    for field in shown.fields:
        assert {o.manager for o in field.option.owners} == {o.manager for o in owners[field.path]}


def test_partly_decided_object_sends_nothing_yet():
    change = plan(make_box(), BLOCK)

    shown = preview(change, {change.open_fields[0].path: ResolutionKind.GIVE_UP})

    assert (shown.request, len(shown.still_open), shown.is_edited, shown.takes_over) == (None, 2, True, False)


def test_patch_shows_no_line_of_another_document():
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: canary}\n"
    change = plan(make_box(), f"{secret}---\n{BLOCK}---\n{secret.replace('name: s', 'name: t')}")

    assert all("canary" not in w.patch.text for f in change.open_fields for w in f.options if w.patch)


def test_rendered_text_is_not_edited():
    source = {"app.yaml": EditedText(BLOCK, "kustomize")}
    (change,) = make_box().plan(BLOCK, sources=source).changes

    patches = {w.patch.reason for w in change.open_fields[0].options if w.patch}
    assert patches == {
        "Kustomize rendered this text: change what it was rendered from. Remove spec.replicas.",
        "Kustomize rendered this text: change what it was rendered from. Set spec.replicas to 5.",
    }


def test_merge_key_is_told_with_what_to_do():
    theirs = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {x: theirs}\n"
    box = Box()
    box.apply(theirs, ApplyOptions(field_manager="other"))
    source = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n"
        "  annotations: &d {x: ours}\ndata:\n  <<: *d\n  z: ours\n"
    )
    change = plan(box, source)

    patches = [w.patch for w in change.open_fields[0].options if w.patch]
    assert [(p.reason, p.position.line) for p in patches] == [
        ("No patch can be made: the field comes from a YAML merge key (<<). Remove data.x.", 7),
        ('No patch can be made: the field comes from a YAML merge key (<<). Set data.x to "theirs".', 7),
    ]


def test_secret_gets_a_sentence_and_no_lines():
    theirs = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\ndata: {p: Y2FuYXJ5LTE=}\n"
    box = Box()
    box.apply(theirs, ApplyOptions(field_manager="other"))
    change = plan(box, theirs.replace("LTE=", "LTI="))

    masked = mask_change(change, tag_key=b"k")

    assert change.open_fields
    assert "canary" not in repr(masked)
    assert "Y2FuYXJ5" not in repr(masked)
    assert [w.patch.reason for w in masked.open_fields[0].options if w.patch] == [
        "The lines hold secret values, so they are not shown. Remove data.p.",
        "The lines hold secret values, so they are not shown. Change data.p.",
    ]
    values = [w.value for w in masked.open_fields[0].options]
    assert values[0] != values[1] == values[2]


def test_lines_beside_a_password_are_not_shown():
    source = BLOCK.replace("- value: ours\n              name: A", "- value: canary\n              name: DB_PASSWORD")
    change = mask_change(plan(make_box(), source), tag_key=b"k")

    assert "canary" not in repr(change)


REPLICAS = ("f:spec", "f:replicas")


def patch_block(edits, sources, number=0, source=BLOCK):
    document = parse_manifests(source.encode(), "app.yaml").documents[number]
    return make_patch(edits, document=document, sources=sources)


@pytest.mark.parametrize("edits", [[], [FileEdit(REPLICAS, 5, 3)]])
def test_nothing_to_edit_is_no_patch(edits):
    assert patch_block(edits, {"app.yaml": EditedText(BLOCK)}) is None


NO_PATCHES = {
    "the text is not given": ({}, REPLICAS, "The text of the source is not at hand"),
    "the object has gone from the text": (
        {"app.yaml": EditedText(OTHER)},
        REPLICAS,
        "No patch can be made: the object as applied is not in the file",
    ),
    "the field has gone from the text": (
        {"app.yaml": EditedText(BLOCK)},
        ("f:spec", "f:paused"),
        "No patch can be made: the field is not in the file",
    ),
}


@pytest.mark.parametrize("name", NO_PATCHES)
def test_where_there_is_no_patch_it_is_told_what_to_do(name):
    sources, path, reason = NO_PATCHES[name]

    patch = patch_block([FileEdit(path, 3, 5)], sources, source="# one line more\n" * (not sources) + BLOCK)

    assert (patch.text, patch.reason) == ("", f"{reason}. Set {'.'.join(e[2:] for e in path)} to 5.")
    assert patch.position.line == 2 + (not sources)


def test_secret_in_the_same_list_hides_the_lines():
    source = LISTED + "- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n  stringData: {p: canary}\n"

    patch = patch_block([FileEdit(REPLICAS, 3, 5)], {"app.yaml": EditedText(source)}, number=1, source=source)

    assert (patch.text, patch.reason) == (
        "",
        "A Secret is in the same list, so its lines are not shown. Set spec.replicas to 5.",
    )


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("changed", [(4,), (8,), (4, 8), (5, 6), (2, 30)])
def test_hunks_at_the_edges_of_a_document_fit_without_fuzz(tmp_path, tool, changed):
    old = [f"{n}\n" for n in range(40)]
    new = [f"new {line}" if n in changed else line for n, line in enumerate(old)]
    allowed = range(3, 10) if 2 not in changed else range(40)

    text, line = unify("app.yaml", "".join(old), "".join(new), allowed=allowed)

    shown = {int(part[1:]) for part in text.splitlines()[2:] if part[0] in " -"}
    assert (line, shown <= set(allowed)) == (changed[0] + 1, True)
    assert run_tool(tool, tmp_path, "".join(old), text) == "".join(new)


@pytest.mark.parametrize("tool", TOOLS)
def test_thousands_of_other_lines_are_one_hunk(tmp_path, tool):
    old = "first\n" + "".join(f"{n}\n" for n in range(3_000)) + "last\n"
    new = "first\n" + "".join(f"{n + n % 2}\n" for n in range(2_500)) + "last\n"

    text, line = unify("app.yaml", old, new, allowed=range(3_002))

    assert (line, text.count("@@ -")) == (3, 1)
    assert run_tool(tool, tmp_path, old, text) == new


def test_answers_of_a_secret_are_masked():
    theirs = "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\ndata: {p: Y2FuYXJ5LTE=}\n"
    box, source = Box(), theirs.replace("LTE=", "LTI=")
    box.apply(theirs, ApplyOptions(field_manager="other"))
    first = plan(box, source)
    decisions = {first.ref.key: tuple(preview_decisions(first, ResolutionKind.SHARE))}

    change = plan(box, source, decisions=decisions)
    masked = mask_change(change, tag_key=b"k")

    (answer,) = masked.answers
    assert (answer.path, answer.manager, answer.resolution) == (("f:data", "f:p"), "other", ResolutionKind.SHARE)
    assert (is_masked(answer.edit.before), is_masked(answer.edit.after)) == (True, True)
    assert answer.edit.before != answer.edit.after
    assert answer.patch.reason == "The lines hold secret values, so they are not shown. Change data.p."
    assert "Y2FuYXJ5" in repr(change)
    assert "Y2FuYXJ5" not in repr(masked)


def test_value_below_what_a_policy_names_is_masked_with_it():
    policy = MaskPolicy(paths=("spec.template",))

    masked = mask_change(plan(make_box(), BLOCK), tag_key=b"k", policy=policy)

    shown = {field.path: [is_masked(option.value) for option in field.options] for field in masked.open_fields}
    assert shown.pop(REPLICAS) == [False, False, False]
    assert list(shown.values()) == [[True, True, True], [True, True, True]]
    assert "ours" not in repr(masked)
    assert "theirs" not in repr(masked)


def test_entry_of_a_set_is_masked_where_it_stands():
    change = plan(make_box(), BLOCK)
    option = replace(change.open_fields[0].options[0], value="canary", is_present=True)
    field = replace(change.open_fields[0], path=("f:spec", "f:keys", 'v:"canary"'), options=(option,))

    named = mask_change(replace(change, open_fields=(field,)), tag_key=b"k", policy=MaskPolicy(paths=("spec.keys.*",)))
    other = mask_change(replace(change, open_fields=(field,)), tag_key=b"k")

    assert is_masked(named.open_fields[0].options[0].value)
    assert other.open_fields[0].options[0].value == "canary"


@pytest.mark.parametrize(
    "written",
    [
        '"can\\"ary"',
        "'can\"ary'",
        '"c\\u00e4n\'ary"',
        "first canary\n                last",
        "'12e3'",
        "yy",
    ],
)
def test_lines_beside_a_password_are_not_shown_however_it_is_written(written):
    source = BLOCK.replace(
        "- value: ours\n              name: A", f"- value: {written}\n              name: DB_PASSWORD"
    )
    change = plan(make_box(), source)
    image = next(field for field in change.open_fields if field.path[-1] == "f:image")
    (left,) = (one for one in image.options if one.resolution is ResolutionKind.GIVE_UP)

    masked = mask_change(replace(change, open_fields=(replace(image, options=(left,)),)), tag_key=b"k")

    shown = masked.open_fields[0].options[0].patch
    assert "- value: " in left.patch.text
    assert (shown.text, shown.reason[:28]) == ("", "The lines hold secret values")


def test_text_that_holds_a_password_hides_the_lines_of_that_password_alone():
    held = '\'{"env": [{"name": "DB_PASSWORD", "value": "canary"}], "note": "replicas of ours"}\''
    source = BLOCK.replace("# the front", f"# the front\n  annotations: {{held: {held}}}")
    change = plan(make_box(), source)

    masked = mask_change(change, tag_key=b"k")

    assert "canary" not in repr(masked)
    shown = {field.path[-1]: [bool(w.patch.text) for w in field.options if w.patch] for field in masked.open_fields}
    assert shown == {"f:replicas": [False, False], "f:image": [True, True], "f:value": [True, True]}
