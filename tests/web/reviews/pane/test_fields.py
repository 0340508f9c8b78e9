"""Values, marks, rows and diffs as a page prints them."""

# ruff: noqa: RUF001 - drawn characters are what is compared

import pytest

from applyviz.engine.diff import text as text_diff
from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects import paths
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.model.plan import Operation, Versions
from applyviz.engine.requests.options import ApplyOptions
from applyviz.web.components import values
from applyviz.web.components.owners import present_owner
from applyviz.web.components.readable_yaml import render_yaml
from applyviz.web.components.values import ABSENT, find_value, show_value
from applyviz.web.reviews.pages.plan_overview import present_same
from applyviz.web.reviews.pane import diff_lines, field_marks, fields
from applyviz.web.reviews.pane.diff_lines import COUNTED_IN_ROW, PAGE, SHOWN, diff_values, present_diff
from applyviz.web.reviews.pane.fields import FieldFilter, RowParts
from applyviz.web.reviews.pane.object_addresses import AloneLinks
from applyviz.web.reviews.pane.object_content import AloneChoice, fill_alone
from applyviz.web.reviews.pane.ownership_columns import present_ownership_columns
from applyviz.web.reviews.pane.resolutions import NOTHING, show_conflicts
from tests.engine.planning.overviews import read_overview
from tests.web import builders

HOTFIX = "registry.example/frontend:hotfix-3"


def present(change, chosen=FieldFilter.CHANGES, resolution=NOTHING):
    """The rows of an object alone below a filter."""
    return show(change, chosen, resolution).rows


def show(change, chosen, resolution=NOTHING):
    options = ApplyOptions(field_manager="ci")
    return fill_alone(change, AloneChoice(show=chosen), options, str, AloneLinks(str, str), resolution)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("v1.2.3", "v1.2.3"),
        ("false", '"false"'),
        ("1", '"1"'),
        ("", '""'),
        (" a", '" a"'),
        (False, "false"),
        (None, "null"),
        (3, "3"),
        ({"maxSurge": "25%", "maxUnavailable": 1}, "maxSurge: 25%, maxUnavailable: 1"),
        (["a", {"b": "c"}], "[a, {b: c}]"),
        ({}, "{}"),
        ([{}, []], "[{}, []]"),
        ({"a": {}, "b": [{"c": {}}]}, "a: {}, b: [{c: {}}]"),
        ("0x1F", '"0x1F"'),
        ("0o17", '"0o17"'),
        ("1_000", '"1_000"'),
        ("infinity", "infinity"),
    ],
)
def test_value_is_written_as_yaml_would_read_it(value, text):
    assert show_value(value).text == text


def test_rows_that_cannot_be_opened_make_only_what_is_printed(monkeypatch):
    compared, written = [], []
    write = render_yaml
    monkeypatch.setattr(
        diff_lines, "diff_lines", lambda *sides, **how: compared.append(sides) or text_diff.diff_lines(*sides, **how)
    )
    monkeypatch.setattr(values, "render_yaml", lambda value: written.append(value) or write(value))
    path, (live, manifest) = paths.fields("data"), ({"data": {"a": text * 90}} for text in "xy")
    reason = FieldReason(path, FieldOperation.CHANGED, Reason.MANIFEST_SETS)
    versions = Versions(live, manifest, live, manifest, manifest)
    change = replace(builders.build_change(), versions=versions, fields=(reason,))

    def present_one(parts):
        given = ApplyOptions(field_manager="ci")
        (row,) = fields.present_rows(change, [(0, reason)], options=given, explain=str, url_of=str, parts=parts)
        return row

    printed = present_one(RowParts(has_versions=False))
    assert (len(compared), written, printed.versions) == (1, [], ())
    assert [line.state for line in printed.lines] == ["same", "removed", "added"]
    assert (printed.live, printed.after) == (None, None)
    told = present_one(RowParts(has_versions=False, has_lines=False))
    assert (len(compared), written, told.versions, told.lines) == (1, [live["data"], manifest["data"]], (), ())
    assert [told.live, told.after] == [show_value(one["data"]) for one in (live, manifest)]


def test_absent_value_is_none():
    assert show_value(find_value({"a": 1}, paths.fields("b"))) is None


def test_long_value_is_cut_and_says_so():
    shown = show_value("x" * 5000)

    assert (len(shown.text), shown.is_cut, shown.is_long) == (4000, True, True)


@pytest.mark.parametrize(("text", "lines"), [("x" * 300 + "\n", 1), ("a\n" * 40, 40), ("a\nb", 2), ("\n", 1)])
def test_line_break_at_the_end_begins_no_other_line(text, lines):
    assert show_value(text).lines == lines


def test_preview_names_the_lines_it_leaves_out():
    shown = show_value("\n".join("abcdefghijkl"))

    assert (shown.preview, shown.hidden_lines) == ("a\nb\nc\nd\ne\nf\ng\nh", 4)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((*builders.SERVER, "f:image"), "registry.example/frontend:v0.10.1"),
        (builders.env_path("ENABLE_SINGLE_SESSION"), "false"),
        (builders.env_path("MISSING"), ABSENT),
        ((*paths.fields("spec", "template", "spec", "containers"), paths.index(0), "f:name"), "server"),
        ((*paths.fields("spec", "template", "spec", "containers"), paths.index(9)), ABSENT),
    ],
)
def test_value_is_found_by_field_path(path, found):
    assert find_value(builders.build_change().versions.manifest, path) == found


def test_default_protocol_counts_as_key():
    path = ("f:ports", paths.key({"port": 53, "protocol": "TCP"}), "f:name")

    assert find_value({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "name": "dns"}]}, path) == "dns"


def test_marks_give_equal_values_equal_shapes():
    found = field_marks.compare_versions("a", "b", "a", "b")

    assert [m.shape for m in found.items] == ["a", "b", "a", "b"]
    assert [(str(m.name), m.value.text) for m in found.versions] == [
        ("last applied", "a"),
        ("manifest", "b"),
        ("live", "a"),
        ("after", "b"),
    ]


def test_marks_of_server_side_apply_say_whether_it_was_yours():
    found = field_marks.compare_owned(True, ABSENT, 7, 7)

    assert [m.shape for m in found.items] == ["owned", "none", "a", "a"]
    assert [(str(m.name), m.value and m.value.text) for m in found.versions] == [
        ("manifest", None),
        ("live", "7"),
        ("after", "7"),
    ]
    assert [m.shape for m in field_marks.compare_owned(False, 7, 7, 7).items] == ["none", "a", "a", "a"]


def test_filters_count_their_rows():
    found = show(builders.build_change(), FieldFilter.KEPT).filters

    assert {c.value: c.count for c in found} == {
        "changes": 8,
        "conflicts": 1,
        "kept": 1,
        "removed": 3,
        "defaulted": 0,
        "all": 9,
    }
    assert [c.value for c in found if c.is_current] == ["kept"]


def test_bookkeeping_and_repeated_keys_are_no_changes():
    change = builders.build_change()
    entry = (*builders.SERVER, "f:env", paths.key({"name": "A"}))
    extra = (
        FieldReason((*entry, "f:name"), FieldOperation.SET, Reason.NEW_ENTRY),
        FieldReason((*entry, "f:value"), FieldOperation.SET, Reason.NEW_ENTRY),
        FieldReason(paths.fields("metadata", "generation"), FieldOperation.CHANGED, Reason.BOOKKEEPING),
    )

    chosen = fields.select_reasons(replace(change, fields=extra), FieldFilter.CHANGES)

    assert [r.path for _n, r in chosen] == [(*entry, "f:value")]


def test_conflict_row_shows_each_way_by_its_result():
    change = builders.build_change()
    rows = [one.row for one in present(change, resolution=show_conflicts(change, you="ci")) if one.row.is_conflict]

    (conflict_row,) = (row.conflict_row for row in rows)
    assert [(c.title, c.value.text, [o.name for o in c.owners], c.sends, c.is_forced) for c in conflict_row.cards] == [
        (
            "Overwrite (force)",
            "registry.example/frontend:v0.10.1",
            ["ci"],
            "image: registry.example/frontend:v0.10.1",
            True,
        ),
        ("Give up the field", HOTFIX, ["kubectl-set"], "the body without image", False),
        ("Share (keep live value)", HOTFIX, ["ci", "kubectl-set"], f"image: {HOTFIX}", False),
    ]


def test_owner_at_another_time_is_the_same_owner():
    old, new = Owner("ci", "Apply", "apps/v1", time="1"), Owner("ci", "Apply", "apps/v1", time="2")
    reason = FieldReason(builders.LABEL, FieldOperation.CHANGED, Reason.MANIFEST_SETS, "", (old,), (new,))

    (flat,) = present(replace(builders.build_change(), fields=(reason,)))

    assert flat.row.has_owner_change is False


@pytest.mark.parametrize(
    ("name", "monogram"), [("kubectl-set", "ks"), ("ci", "ci"), ("kube-controller-manager", "kc"), ("?!", "?")]
)
def test_owner_wears_a_monogram(name, monogram):
    assert present_owner(Owner(name, "Update")).monogram == monogram


def test_lanes_tell_who_gains_and_loses():
    found = present_ownership_columns(builders.build_change().fields, you="ci")

    assert [(lane.owner.name, lane.before, lane.after, len(lane.gained), len(lane.lost)) for lane in found] == [
        ("ci", 6, 4, 1, 3),
        ("kube-controller-manager", 1, 1, 0, 0),
        ("kubectl-set", 1, 1, 0, 0),
    ]


def test_diff_leaves_out_what_the_server_writes_unless_asked():
    change = builders.build_change()
    live = {**change.versions.live, "status": {"replicas": 7}}
    versions = replace(change.versions, live=live, after={**live, "status": {"replicas": 8}})
    noisy = replace(change, versions=versions, fields=())  # a conflict would stay

    assert present_diff(noisy, you="ci", is_split=False, has_server_managed=False).rows == ()
    shown = present_diff(noisy, you="ci", is_split=False, has_server_managed=True).rows
    assert [row.state for row in shown if row.state not in ("same", "fold")] == ["removed", "added"]


def test_diff_has_owners_and_manifest_lines_beside_it():
    rows = present_diff(builders.build_change(), you="ci", is_split=True, has_server_managed=False).rows

    version = next(row for row in rows if row.after and "version" in "".join(p.text for p in row.after.parts))
    assert ([o.name for o in version.owners], version.source_line) == (["ci"], 8)


def test_values_of_one_line_need_no_diff():
    assert diff_values("image", "a", "b") == ()
    assert [r.state for r in diff_values("text", "a\nb", "a\nc")] == ["same", "same", "removed", "added"]


def test_same_changes_say_what_moves_and_who_deviates():
    one = replace(builders.build_change(), operation=Operation.UPDATE)
    less = replace(one, fields=one.fields[:1])

    (same,) = present_same(read_overview([less, less, one, less]))

    assert (same.positions, same.text, same.exceptions, same.is_same) == (
        frozenset({0, 1, 3}),
        "metadata.labels › app.kubernetes.io/version: v0.8.0 → v0.10.1",
        (2,),
        True,
    )


def test_default_that_replaces_a_live_value_is_a_change():
    change = builders.build_change()
    replicas, paused = (
        FieldReason(paths.fields("spec", name), FieldOperation.DEFAULTED, Reason.SERVER_DEFAULT)
        for name in ("replicas", "paused")
    )
    versions = Versions(live={"spec": {"replicas": 7}}, after={"spec": {"replicas": 1, "paused": False}})
    change = replace(change, versions=versions, fields=(replicas, paused))

    assert fields.select_reasons(change, FieldFilter.CHANGES) == [(0, replicas)]
    assert fields.select_reasons(change, FieldFilter.DEFAULTED) == [(0, replicas), (1, paused)]


def test_long_diff_comes_in_pages():
    live = {"data": {f"key-{n:04}": "a" for n in range(PAGE)}}
    after = {"data": {f"key-{n:04}": "b" for n in range(PAGE)}}
    change = replace(builders.build_change(), versions=Versions(live=live, after=after))

    first = present_diff(change, you="ci", is_split=False, has_server_managed=False)
    last = present_diff(change, you="ci", is_split=False, has_server_managed=False, start=first.after)

    assert (len(first.rows), first.before, first.after) == (PAGE, 0, PAGE + 1)
    assert (last.before, last.after, last.last) == (1, 2 * PAGE + 1, 2 * PAGE)


def test_long_value_shows_where_it_begins_to_differ():
    old = "\n".join(f"line {n}" for n in range(1000))
    new = old.replace("line 500", "line five hundred").replace("line 900", "x")

    rows = diff_values("text", old, new)

    texts = ["".join(p.text for p in row.shown.parts) if row.shown else row.fold for row in rows]
    assert texts[1:4] == ["line 499", "line 500", "line five hundred"]
    assert texts[-1] == "477 more lines: see the diff"


def test_so_many_differing_lines_are_counted_and_no_more(monkeypatch):
    """As a new version of a custom resource, each of whose descriptions is another."""
    old, new = ([{"name": f"p{n}", "description": f"{side}{n}"} for n in range(5000)] for side in "xy")
    compared = []
    monkeypatch.setattr(
        diff_lines,
        "diff_lines",
        lambda *sides, **how: compared.append(text_diff.diff_lines(*sides, **how)) or compared[-1],
    )

    rest = diff_values("properties", old, new)[-1].fold
    whole = diff_values("properties", old, [*old[:-1], new[-1]])

    assert rest.startswith("at least ")
    assert sum(row.state != "same" for row in compared[0]) == COUNTED_IN_ROW < 5 * SHOWN
    assert [row.shown.parts[-1].text for row in whole if row.state == "added"] == ["y4999"]


def test_text_that_differs_after_an_indented_line_is_shown_line_by_line():
    """As the Corefile of CoreDNS, whose part has no line without indentation."""
    old = ".:53 {\n    errors\n    health {\n      lameduck 5s\n    }\n    ready\n}"

    rows = diff_values("Corefile", old, old.replace("5s", "10s"))

    texts = [f"{row.shown.indent}{''.join(p.text for p in row.shown.parts)}" for row in rows if row.shown]
    assert texts[:4] == ["Corefile: |-", "      health {", "        lameduck 5s", "        lameduck 10s"]
    assert not [text for text in texts if "\\n" in text or "…" in text]


def test_indented_text_that_gets_an_end_of_line_shows_it():
    """The header of the block differs then, too."""
    old = ".:53 {\n    errors\n    ready 5s"

    rows = diff_values("Corefile", old, f"{old[:-2]}10s\n" + "    # more\n" * 3)

    texts = [f"{row.state} {row.shown.indent}{''.join(p.text for p in row.shown.parts)}" for row in rows if row.shown]
    assert texts[:3] == ["removed Corefile: |-", "added Corefile: |", "same       errors"]
    assert not [text for text in texts if "\\n" in text or "…" in text]


@pytest.mark.parametrize("place", [100, 3_990, 30_000])
def test_difference_within_a_long_line_is_never_cut(place):
    old = "a" * 30_100
    removed, added = diff_values("text", old, f"{old[:place]}b{old[place + 1 :]}")[-2:]

    shown = "".join(part.text for part in added.shown.parts)
    assert (removed.state, added.state) == ("removed", "added")
    assert "b" in shown
    assert ("…" in shown[:20]) == (place > 4_000 - 72)
    assert ("…" in shown[-5:]) == (place < 30_000)


@pytest.mark.parametrize(("gone", "is_told"), [("live", False), ("after", False), ("", True)])
def test_what_names_an_object_is_no_change_of_one_that_is_created_or_deleted(gone, is_told):
    change, named = builders.build_change(), paths.fields("metadata", "name")
    reason = FieldReason(named, FieldOperation.SET, Reason.MANIFEST_SETS, "", (), ())
    versions = replace(change.versions, **{gone: None}) if gone else change.versions
    change = replace(change, fields=(reason, *change.fields), versions=versions)

    def is_there(chosen: FieldFilter) -> bool:
        return named in {r.path for _n, r in fields.select_reasons(change, chosen)}

    assert (is_there(FieldFilter.CHANGES), is_there(FieldFilter.ALL)) == (is_told, True)
    if change.versions.live is None or change.versions.after is not None:  # a deletion is shown as a whole
        counts = {choice.value: choice.count for choice in show(change, FieldFilter.CHANGES).filters}
        assert counts["changes"] == len(present(change))


def test_kept_rows_of_others_come_before_defaults_under_titles():
    change = builders.build_change()
    default = FieldReason(builders.GRACE, FieldOperation.KEPT, Reason.LIVE_ONLY)
    change = replace(change, fields=(default, *change.fields))

    found = present(change, FieldFilter.KEPT)

    assert [(str(one.title), one.row.path) for one in found] == [
        ("Set by other field managers", ".spec.replicas"),
        (
            "Server defaults and fields without another owner",
            ".spec.template.spec.terminationGracePeriodSeconds",
        ),
    ]
    assert [one.title for one in present(replace(change, fields=(default,)), FieldFilter.KEPT)] == [""]
