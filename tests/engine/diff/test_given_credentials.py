"""Messages of programs that read a person's files repeat no credential of these files, in any form."""

from __future__ import annotations

import base64

import pytest

from applyviz.engine.diff.given_credentials import (
    MASK,
    hide_and_cut,
    hide_credentials,
    list_credentials,
    list_defaults,
)

CANARY = "q7Rz0xWv-canary"
ENCODED = base64.b64encode(CANARY.encode()).decode()
SECRET = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: the-name\n%s:\n  opening: %s\n"
BEYOND = 64 * 1024


def test_what_a_file_names_a_credential_is_one():
    assert list_credentials(f"db:\n  user: app\n  password: {CANARY}\n") == {CANARY}
    assert list_credentials("image: nginx\nopening: hours\n") == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        SECRET % ("stringData", CANARY),
        SECRET % ("data", ENCODED),
        f"secretGenerator:\n- name: the-name\n  literals:\n  - opening={CANARY}\n",
    ],
)
def test_every_value_of_a_secret_is_a_credential_and_its_name_is_none(text):
    found = list_credentials(text)

    assert CANARY in found
    assert not {"the-name", "Secret", "v1"} & found


def test_default_of_a_chart_that_names_a_key_is_no_credential():
    text = f"secretKeys: {{userPasswordKey: password, adminPasswordKey: admin-password}}\npassword: {CANARY}\n"

    assert list_defaults(text) == {CANARY}


@pytest.mark.parametrize("form", [CANARY, ENCODED, CANARY.encode().hex(), CANARY[::-1]])
def test_every_form_of_a_credential_is_hidden(form):
    assert hide_credentials(f"helm: bad value {form} in line 3", [CANARY]) == f"helm: bad value {MASK} in line 3"


def test_what_a_text_names_itself_is_hidden_and_short_values_stay():
    assert hide_credentials(f"a of b\npassword: {CANARY}", ["a", " b  "]) == f"a of b\npassword: {MASK}"


def test_each_of_many_values_is_hidden_and_of_too_many_the_whole_text():
    """As many are sought as make the longer parts of the text worth listing."""
    values = [f"value-{number:05}-of-many" for number in range(3_000)]
    there = "\n".join(values[:900])

    assert hide_credentials(f"first\n{there}", values) == "\n".join(["first", *[MASK] * 900])
    assert hide_credentials("\n".join(values), values) == MASK


def test_text_that_is_read_to_its_end_is_hidden_before_it_is_cut():
    assert hide_and_cut(f"said {CANARY}", [CANARY], 10) == f"said {MASK}"[:10]


def test_credential_that_is_divided_where_a_text_is_cut_shows_no_half():
    long = f"{'x' * 95} {CANARY} {'y' * 2 * BEYOND}"

    shown = hide_and_cut(long, [CANARY], 100)

    assert f"{'x' * 95} {MASK}".startswith(shown)
    assert len(shown) > 80


def test_text_with_the_beginning_of_a_credential_that_is_longer_than_what_is_read_is_hidden_whole():
    key = "q7Rz0xWv" * 10_000
    text = f"said {key}{'y' * BEYOND}"

    assert hide_and_cut(text, [key], 100) == MASK
    assert hide_and_cut(f"said {'y' * 2 * BEYOND}", [key], 10) == "said yyyyy"
