"""The Owners tab: the map of objects and field managers, its numbers, and the tree of one object."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from applyviz.engine.explain.reasons import FieldOperation, FieldReason, Reason
from applyviz.engine.objects.errors import Conflict
from applyviz.engine.objects.owners import Owner
from applyviz.engine.objects.paths import fields, key
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.model.owner_map import map_owners
from applyviz.engine.planning.model.plan import Operation, PlannedObject, Versions
from applyviz.web.reviews.pages.owners.columns import find_columns
from applyviz.workflow.plans import plan_details, planner
from tests.web import reading, rows

US, KUBECTL, SET = Owner("ci", "Apply"), Owner("kubectl-client-side-apply", "Update"), Owner("kubectl-set", "Update")
IMAGE = (*fields("spec", "containers"), key({"name": "main"}), "f:image")


def reason(path, before=(), after=(), operation=FieldOperation.UNCHANGED):
    return FieldReason(path, operation, Reason.MANIFEST_SETS, "", before, after)


def change(name: str, *reasons: FieldReason, conflicts=(), operation=Operation.UPDATE, kind="Deployment", **versions):
    ref = ObjectRef(GroupVersionKind("" if kind == "Secret" else "apps", "v1", kind), "shop", name)
    return PlannedObject(ref, operation, Versions(**versions), fields=reasons, conflicts=tuple(conflicts))


def make_plan(author, changes):
    return rows.make_plan(author, changes)


def address(plan, query: str = "") -> str:
    return reverse("reviews:show-owners", args=[plan.review.number, plan.number]) + query


@pytest.fixture
def shop(alice):
    spec = {"containers": [{"name": "main", "image": "shop/web:2"}], "replicas": 3, "paused": "yes: no"}
    live = {"spec": {**spec, "containers": [{"name": "main", "image": "shop/web:1"}], "old": ""}}
    disputed = Conflict("kubectl-set", "Update", "apps/v1", "", IMAGE, "")
    same = (reason(fields("spec", name), (US,), (US,)) for name in "abcdefgh")
    return make_plan(
        alice,
        [
            change(
                "web",
                reason(IMAGE, (SET,), (SET,), FieldOperation.CONFLICT),
                reason(fields("spec", "replicas"), (), (), FieldOperation.DEFAULTED),
                reason(fields("spec", "paused"), (US,), (US,), FieldOperation.CHANGED),
                reason(fields("spec", "old"), (US,), (), FieldOperation.CLEARED),
                *same,
                reason(fields("spec", "x"), (SET,), (SET,), FieldOperation.NOT_REMOVED),
                reason(fields("metadata", "labels", "app"), (), (US,), FieldOperation.SET),
                conflicts=[disputed],
                live=live,
                manifest={"spec": spec},
                after={"spec": {**spec, **dict.fromkeys("abcdefghx", "v")}, "metadata": {"labels": {"app": "web"}}},
            ),
            change("moved", reason(fields("spec", "a"), (KUBECTL,), (US,)), reason(fields("b"), (US,), (KUBECTL,))),
            change("new", reason(fields("spec", "a"), (), (US,)), operation=Operation.CREATE),
            *(change(f"same-{n}", reason(fields("spec", "a"), (US,), (US,))) for n in range(10)),
        ],
    )


def test_map_groups_objects_by_what_happens_to_their_owners(as_alice, shop):
    page = reading.read(as_alice, address(shop))

    groups = [reading.text_of(th) for th in reading.find_all(page, "th") if reading.attribute(th, "colspan")]
    labels = [reading.attribute(svg, "aria-label") for svg in reading.find_all(page, "svg", has="role")]
    managers = [reading.text_of(th) for th in reading.find_all(page, "th", has="scope")][1:4]
    assert groups == ["Conflicts 1", "Handover 1", "New objects 1", "Same owners 10"]
    assert any("image in conflict with kubectl-set" in (label or "") for label in labels)
    assert any("1 from kubectl-client-side-apply to ci; 1 from ci to" in (label or "") for label in labels)
    assert managers[:2] == ["kubectl-client-side-apply Update", "ci Apply"]
    assert "2 more" in reading.text_of(page)


def test_new_object_without_owned_fields_is_not_among_those_of_the_same_owners(as_alice, alice):
    bare = change("web", operation=Operation.CREATE, kind="ServiceAccount")
    gone = change("old", operation=Operation.DELETE, kind="ServiceAccount")
    plan = make_plan(alice, [bare, gone, change("same", reason(fields("spec", "a"), (SET,), (US, SET)))])

    page = reading.read(as_alice, address(plan))

    groups = [reading.text_of(th) for th in reading.find_all(page, "th") if reading.attribute(th, "colspan")]
    assert groups == ["Gained or lost 1", "New objects 1", "Deleted objects 1"]


def test_of_many_new_objects_the_first_are_listed(as_alice, alice):
    plan = make_plan(
        alice,
        [change(f"new-{n}", reason(fields("spec", "a"), (), (US,)), operation=Operation.CREATE) for n in range(20)],
    )

    page, whole = (reading.read(as_alice, address(plan, query)) for query in ("", "?all=1"))

    assert "new-7" in reading.text_of(page)
    assert "new-8" not in reading.text_of(page)
    assert "12 more" in reading.text_of(page)
    assert "new-19" in reading.text_of(whole)


def test_owners_of_one_name_are_told_apart_by_how_they_write(as_alice, alice):
    ours = Owner("ci", "Update")
    moved = reason(fields("spec", "a"), (US,), (ours,))
    plan = make_plan(alice, [change("back", moved, reason(fields("spec", "b"), (SET,), (SET,)))])

    page = reading.read(as_alice, address(plan))

    labels = [reading.attribute(svg, "aria-label") for svg in reading.find_all(page, "svg", has="role")]
    assert "ci (Apply) → ci (Update)" in reading.text_of(page)
    assert any("1 from ci (Apply) to ci (Update)" in (label or "") for label in labels)
    assert any("kubectl-set 1 field" in (label or "") for label in labels)


def test_owner_that_gains_as_many_fields_as_it_loses_says_so(as_alice, alice):
    swapped = (reason(fields("spec", "a"), (US,), ()), reason(fields("spec", "b"), (), (US,)))
    plan = make_plan(alice, [change("swap", *swapped, reason(fields("spec", "c"), (SET,), (SET,)))])

    page = reading.read(as_alice, address(plan))

    labels = [reading.attribute(svg, "aria-label") or "" for svg in reading.find_all(page, "svg", has="role")]
    assert any("ci 1 field: 1 gained, as many lost; kubectl-set 1 field" in label for label in labels), labels


def test_map_says_who_sets_the_replicas(as_alice, alice):
    scaler = Owner("hpa-controller", "Update", "", "scale")
    scaled = change("web", reason(fields("spec", "replicas"), (scaler,), (scaler,), FieldOperation.KEPT))
    plan = make_plan(alice, [scaled, change("other", reason(fields("spec", "a"), (US,), (US,)))])

    rows = [reading.text_of(row) for row in reading.find_all(reading.read(as_alice, address(plan)), "tr")]

    assert [row for row in rows if "scales replicas" in row and "web" in row]
    assert not [row for row in rows if "replicas" in row and "other" in row]


def test_table_prints_the_numbers_and_all_shows_everything(as_alice, shop):
    page = reading.read(as_alice, address(shop, "?view=table&all=1"))

    text = [reading.text_of(row) for row in reading.find_all(page, "tr")]
    assert any("moved" in row and "1 → 1" not in row and "ci →" in row for row in text)
    assert len([row for row in text if "same-" in row]) == 10


def test_tree_shows_lines_with_owners_before_and_after(as_alice, shop):
    page = reading.read(as_alice, address(shop, "?object=0"))

    text = [reading.text_of(row) for row in reading.find_all(page, "tr")]
    wanted = ("- image: shop/web:2", "paused: yes: no", "server default", "removed", "removal blocked", "new")
    assert [word for word in wanted if not any(word in row for row in text)] == []
    assert any("unresolved" in row and "conflict: live has shop/web:1" in row for row in text)
    assert any("8 lines, same owner" in row for row in text)
    unfolded = reading.read(as_alice, address(shop, "?object=0&fold=0"))
    assert not any("same owner" in reading.text_of(row) for row in reading.find_all(unfolded, "tr"))
    assert "Resolve in Changes" in reading.text_of(page)


def test_one_field_manager_is_a_sentence(as_alice, alice):
    plan = make_plan(alice, [change("web", reason(fields("spec", "a"), (US,), (US,)))])

    assert "ci (Apply) owns every owned field of the 1 object" in as_alice.get(address(plan)).content.decode()


def test_objects_without_owners_say_so(as_alice, alice):
    plan = make_plan(alice, [change("web", reason(fields("spec", "a")))])

    assert "No field manager owns fields" in as_alice.get(address(plan)).content.decode()


def test_plan_without_a_map_says_so(as_alice, alice):
    failed = rows.make_plan(alice, [change("web")], state="failed")
    assert "No owners" in as_alice.get(address(failed)).content.decode()
    planning = rows.make_plan(alice, [change("web")], state="planning")
    assert "counted when all objects are planned" in as_alice.get(address(planning)).content.decode()


def test_reader_who_may_not_read_a_secret_sees_none_of_its_owners(as_viewer, alice):
    moved = reason(fields("data", "a"), (KUBECTL,), (US,))
    plan = make_plan(alice, [change("keys", moved, kind="Secret"), change("web", moved)])

    seen = planner.get_plan(1, review_number=plan.review.number, for_user=User.objects.get(username="vera"))

    found = plan_details.read_owners(seen)
    assert [len(one.shares) for one in found.objects] == [0, 2]
    assert "not shown" in as_viewer.get(address(plan)).content.decode()


def test_server_defaults_of_the_tree_can_be_left_out(as_alice, shop):
    page = reading.read(as_alice, address(shop, "?object=0&fold=0"))
    (switch,) = (a for a in reading.find_all(page, "a") if "Server defaults" in reading.text_of(a))
    without = reading.read(as_alice, address(shop, reading.attribute(switch, "href") or ""))

    def notes(tree) -> set[str]:
        return {reading.text_of(td) for td in reading.find_all(tree, "td")}

    assert ("server default" in notes(page), "server default" in notes(without)) == (True, False)
    assert notes(without) >= {"new", "removed", "removal blocked"}
    (back,) = (a for a in reading.find_all(without, "a") if "Server defaults" in reading.text_of(a))
    assert reading.attribute(back, "href") == "?object=0&fold=0"


def test_head_of_a_column_leads_to_all_fields_of_its_manager(as_alice, shop):
    page = reading.read(as_alice, address(shop))

    links = {reading.attribute(a, "href") for a in reading.find_all(page, "a")}
    assert reverse("clusters:field-manager", args=[shop.target.cluster.slug, "ci"]) in links


def test_many_field_managers_share_the_last_column():
    reasons = [reason(fields(f"f{n}"), (Owner(f"m{n}", "Update"),), (Owner(f"m{n}", "Update"),)) for n in range(9)]

    columns = find_columns(map_owners([change("web", *reasons)]).objects, own="ci")

    assert [column.others for column in columns.found] == [0] * 6 + [3]
    assert columns.found[-1].before == 3
