"""Sealed content prints nothing, opens under every opening key and no other, and never becomes plain by accident."""

import json
import zlib

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import transaction

from applyviz import sealing_keys
from applyviz.engine.objects.json_text import write_json
from applyviz.records import sealing
from applyviz.records.enums import AuditAction, ClusterKind
from applyviz.records.fields import seal_for
from applyviz.records.models import AuditEntry, Cluster, ObjectChange, SandboxObject
from applyviz.records.sealing import Sealed, SealError, Unsealed, can_open
from applyviz.workflow.ops import key_rotation
from tests.builders import make_cluster_row, make_person, make_plan_row


def hold(settings, *, opening=(), sealing=""):
    settings.APPLYVIZ_OPENING_KEYS = list(opening)
    settings.APPLYVIZ_SEALING_KEY = sealing


@pytest.fixture
def pair():
    opening = sealing_keys.make_opening_key()
    return opening, sealing_keys.sealing_key_of(opening)


def sealed_under(opening: str, content: bytes, location: str) -> Sealed:
    return Sealed(sealing_keys.seal(content, sealing_keys.sealing_key_of(opening), location), location)


def test_sealed_prints_nothing():
    unsealed = Unsealed.of_json({"password": "s3cr3t"})
    sealed = unsealed.seal("here")

    assert (str(sealed), repr(sealed), f"{sealed}") == ("<sealed>", "<sealed>", "<sealed>")
    assert (str(unsealed), repr(unsealed), f"{unsealed}") == ("<unsealed>", "<unsealed>", "<unsealed>")
    for value in (sealed, unsealed):
        with pytest.raises(TypeError):
            json.dumps(value)


def test_sealing_key_seals_and_opens_nothing(settings, pair):
    opening, sealing = pair
    hold(settings, sealing=sealing)

    sealed = Unsealed(b"content").seal("here")

    assert not can_open()
    with pytest.raises(SealError, match="holds no key that opens"):
        sealed.open_bytes()
    hold(settings, opening=[opening])
    assert sealed.open_bytes() == b"content"


def test_every_opening_key_opens_and_the_first_seals(settings, pair):
    older, newer = pair[0], sealing_keys.make_opening_key()
    hold(settings, opening=[older])
    sealed = Unsealed(b"content").seal("here")
    hold(settings, opening=[newer, older])

    moved = sealed.resealed()
    hold(settings, opening=[newer])

    assert moved.open_bytes() == b"content"
    assert (sealed.is_current, moved.is_current) == (False, True)
    with pytest.raises(SealError, match="a key that is not here"):
        sealed.open_bytes()


def test_same_content_never_has_the_same_token():
    assert len({Unsealed(b"content").seal("here").token for _ in range(50)}) == 50


def test_content_sealed_together_has_one_key_exchange_and_its_own_location(settings, pair):
    hold(settings, opening=pair[:1])
    key = sealing.make_content_key()

    one, other = (Unsealed.of_bytes(text, key).seal(text.decode()) for text in (b"one", b"other"))

    assert {sealed.token[: len(key.head)] for sealed in (one, other)} == {key.head}
    assert (one.open_bytes(), other.open_bytes()) == (b"one", b"other")
    with pytest.raises(SealError, match="moved from another row"):
        Sealed(one.token, other.location).open_bytes()
    with pytest.raises(SealError, match="changed"):
        Sealed(sealing.make_content_key().head + one.token[len(key.head) :], one.location).open_bytes()
    assert str(key) == f"{key}" == "<content key>"
    assert not one.resealed().token.startswith(key.head)


def test_content_key_seals_equal_content_to_other_tokens():
    key = sealing.make_content_key()

    assert len({Unsealed.of_bytes(b"content", key).seal("here").token for _ in range(50)}) == 50


def test_every_changed_bit_is_noticed(settings, pair):
    hold(settings, opening=pair[:1])
    token = Unsealed(b"c").seal("here").token

    for place in range(len(token)):
        changed = bytearray(token)
        changed[place] ^= 1
        with pytest.raises(SealError):
            Sealed(bytes(changed), "here").open_bytes()
    for length in range(len(token)):
        with pytest.raises(SealError):
            Sealed(token[:length], "here").open_bytes()


def test_without_a_key_nothing_is_sealed(settings):
    hold(settings)

    with pytest.raises(ImproperlyConfigured, match="APPLYVIZ_SEALING_KEY: no key is set"):
        Unsealed(b"content").seal("here")


@pytest.mark.parametrize(
    ("which", "text", "said"),
    [
        ("sealing", "{opening}", "APPLYVIZ_SEALING_KEY: this is an opening key"),
        ("sealing", "secret", "APPLYVIZ_SEALING_KEY: not a sealing key"),
        ("sealing", "applyviz-seal-c2hvcnQ", "APPLYVIZ_SEALING_KEY: a sealing key of the wrong length"),
        ("opening", "{sealing}", "APPLYVIZ_OPENING_KEYS: this is a sealing key"),
        ("opening", "applyviz-open-!!", "APPLYVIZ_OPENING_KEYS: an opening key of the wrong length"),
    ],
)
def test_a_wrong_key_is_named_and_not_repeated(settings, pair, which, text, said):
    given = text.format(opening=pair[0], sealing=pair[1])
    hold(settings, sealing=given if which == "sealing" else "", opening=[given] if which == "opening" else [])

    with pytest.raises(ImproperlyConfigured) as caught:
        Unsealed(b"content").seal("here")

    assert str(caught.value).startswith(said)
    assert given not in str(caught.value)


def test_numbers_keep_their_form():
    value = {"whole": 1, "float": 1.0, "big": 2**60, "order": {"b": 1, "a": 2}}

    opened = Unsealed.of_json(value).seal("here").open_json()

    assert json.dumps(opened) == json.dumps(value)


def test_public_json_is_sealed_compressed_and_opens_whole():
    value = {"lines": ["the same line"] * 500, "other": 1}
    sealed = Unsealed.of_public_json(write_json(value)).seal("here")

    assert len(sealed.token) < len(write_json(value)) / 10
    assert (sealed.open_json(), sealed.open_members({"other"})) == (value, {"other": 1})
    assert sealed.resealed().open_json() == value


@pytest.mark.parametrize("content", [b"x", b"x\x9c\x00", zlib.compress(b"{}")[:-1], b"xyz"])
def test_content_that_does_not_expand_is_no_content(content):
    sealed = Unsealed.of_bytes(content).seal("here")

    with pytest.raises(SealError, match="compressed"):
        sealed.open_json()
    assert sealed.open_bytes() == content


def test_compressed_content_expands_within_a_limit(monkeypatch):
    monkeypatch.setattr(sealing, "_MOST_EXPANDED", 1000)
    bomb = Unsealed.of_public_json(b"[" + b" " * 1000 + b"]").seal("here")

    with pytest.raises(SealError, match="too large"):
        bomb.open_json()


@pytest.mark.django_db
def test_column_takes_sealed_content_only():
    row = SandboxObject(cluster=make_cluster_row(), plural="secrets", name="s", body=b"plain")

    with pytest.raises(TypeError, match="expected Sealed"):
        row.save()


@pytest.mark.django_db
def test_content_is_sealed_for_its_row():
    """By assignment, and by an update that does not go through the row; never for no row, and never without a name."""
    box, other = make_cluster_row("box", credential=Unsealed(b"one")), make_cluster_row("other")
    assert Cluster.objects.get(slug="box").credential.open_bytes() == b"one"

    Cluster.objects.filter(slug="other").update(credential=seal_for(other, "credential", Unsealed(b"two")))
    other.refresh_from_db()
    assert other.credential.open_bytes() == b"two"

    with pytest.raises(TypeError, match="expected Sealed"), transaction.atomic():
        Cluster.objects.filter(slug="box").update(credential=Unsealed(b"three"))
    with pytest.raises(ValueError, match=r"records_sandboxobject\.body is bound to cluster_id"), transaction.atomic():
        SandboxObject(plural="secrets", name="s", body=Unsealed(b"four")).save()
    with pytest.raises(SealError, match="bound to were not read"):
        Cluster.objects.only("credential").get(slug="box").credential.open_bytes()
    assert box.credential.token


@pytest.mark.django_db
def test_a_row_is_located_once_and_never_by_another_row(settings, pair, monkeypatch):
    hold(settings, opening=pair[:1])
    make_cluster_row("box", credential=Unsealed(b"one"))
    other = make_cluster_row("other")
    field, asked = Cluster._meta.get_field("credential"), []
    locate = field.locate
    monkeypatch.setattr(field, "locate", lambda row: asked.append(row.slug) or locate(row))
    box = Cluster.objects.get(slug="box")

    assert [box.credential.open_bytes() for _ in range(5)] == [b"one"] * 5
    assert asked == ["box"]
    other.credential = box.credential
    with pytest.raises(SealError):
        other.credential.open_bytes()
    assert asked == ["box", "other"]


@pytest.mark.django_db
def test_rotation_carries_over_what_is_not_immutable(settings, pair):
    old = sealing_keys.make_opening_key()
    hold(settings, opening=[pair[0], old])
    location = Cluster._meta.get_field("credential").locate(Cluster(slug="live"))
    make_cluster_row("live", kind=ClusterKind.LIVE, credential=sealed_under(old, b"credential", location))
    plan = make_plan_row(make_person("alice"), sealed=sealed_under(old, b"{}", ""))

    found = {one.column: (one.carried, one.fixed, one.unopened) for one in key_rotation.rotate_keys()}

    assert {column: told for column, told in found.items() if any(told)} == {
        "cluster.credential": (1, 0, 0),
        "objectchange.sealed": (0, 1, 0),
    }
    assert AuditEntry.objects.get(action=AuditAction.KEYS_ROTATED).detail == {"cluster.credential": 1}
    hold(settings, opening=pair[:1])
    assert Cluster.objects.get(slug="live").credential.open_bytes() == b"credential"
    with pytest.raises(SealError, match="a key that is not here"):
        ObjectChange.objects.get(plan=plan).sealed.open_bytes()


@pytest.mark.django_db
def test_rotation_says_what_it_cannot_open(settings, pair):
    hold(settings, opening=pair[:1])
    make_cluster_row("live", kind=ClusterKind.LIVE, credential=sealed_under(sealing_keys.make_opening_key(), b"c", ""))

    with pytest.raises(CommandError, match="1 values are encrypted under keys that are missing"):
        call_command("keys", "reseal")


def test_command_makes_a_pair_that_fits(capsys):
    call_command("keys", "make")

    told = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    assert sealing_keys.sealing_key_of(told["APPLYVIZ_OPENING_KEYS"]) == told["APPLYVIZ_SEALING_KEY"]


def test_command_shows_names_and_no_opening_key(settings, pair, capsys):
    hold(settings, opening=pair[:1])

    call_command("keys", "show")

    name = sealing_keys.name_of(pair[1])
    assert capsys.readouterr().out.splitlines() == [f"seals  {name}  {pair[1]}", f"opens  {name}"]
