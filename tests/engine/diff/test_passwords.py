"""The fields that a schema calls passwords are found and hidden by their paths, and those of two plans are joined."""

from __future__ import annotations

from typing import Any

from applyviz.engine.diff.entry_names import write_object
from applyviz.engine.diff.passwords import KindPasswords, Passwords
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.schema.password_fields import ANY

BACKUP = GroupVersionKind("example.com", "v1", "Backup")
KIND = KindPasswords("example.com", "Backup", (("spec", "users", ANY, "word"), ("spec", "pins", ANY)))
PASSWORDS = Passwords((KIND,))
SPEC: dict[str, Any] = {"users": [{"name": "a", "word": "w1"}, {"word": "w2"}], "pins": [1234, True, None, {"x": "w3"}]}


def test_values_in_list_entries_count_and_so_do_numbers_and_what_is_below_them():
    assert PASSWORDS.list_values({"spec": SPEC}, BACKUP) == {"w1", "w2", "1234", "w3"}
    assert PASSWORDS.list_values({"spec": SPEC}, GroupVersionKind("", "v1", "ConfigMap")) == frozenset()


def test_value_in_place_of_what_the_schema_declares_holds_no_password():
    assert PASSWORDS.list_values({"spec": {"users": "w1", "pins": [1234]}}, BACKUP) == {"1234"}
    assert PASSWORDS.list_values({"spec": None}, BACKUP) == frozenset()


def test_entries_are_hidden_one_by_one_and_their_neighbours_stay():
    shown = PASSWORDS.hide({"spec": SPEC}, {"spec": SPEC}, BACKUP, (), lambda value, path: "hidden")

    assert shown == {
        "spec": {"users": [{"name": "a", "word": "hidden"}, {"word": "hidden"}], "pins": ["hidden"] * 4},
    }


def test_kinds_that_either_plan_names_count_with_the_fields_of_both():
    more = Passwords(
        (KindPasswords("example.com", "Backup", (("spec", "key"),)), KindPasswords("", "Safe", (("pin",),)))
    )

    joined = PASSWORDS.join(more)

    assert set(joined.find(BACKUP)) == {*KIND.paths, ("spec", "key")}
    assert joined.find(GroupVersionKind("", "v1", "Safe")) == (("pin",),)
    assert joined == PASSWORDS.join(more).join(more)
    assert PASSWORDS.join(Passwords()) is PASSWORDS
    assert PASSWORDS.join(Passwords((KIND,))) is PASSWORDS


def test_broken_text_holds_a_password_if_it_names_the_kind_and_the_list_or_field():
    text = "kind: Backup\nspec:\n  pins: [1234"

    assert PASSWORDS.are_in(text)
    assert not PASSWORDS.are_in(text.replace("pins", "tins"))
    assert not PASSWORDS.are_in(text.replace("Backup", "Pod"))


def test_names_of_managed_fields_below_what_is_no_map_are_null():
    assert write_object({"f:data": {"f:a": 5, "f:b": {}}}) == {"data": {"a": None, "b": None}}
