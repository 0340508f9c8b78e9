"""Known secret values leave text that others wrote."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from applyviz.engine.diff.scrubbing import SCRUBBED, find_secrets, mask_text
from applyviz.engine.objects.refs import GroupVersionKind

SECRET = GroupVersionKind("", "v1", "Secret")
VALUE = "Tr0ub4dor&3 is <long>\nenough"
SHORT = "hunter2"


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        base64.b64encode(VALUE.encode()).decode(),
        json.dumps(VALUE),
        quote(VALUE, safe=""),
        VALUE.encode().hex(),
        VALUE[:14],
        VALUE[-12:],
        VALUE[:9] + "\n   " + VALUE[9:],
        base64.b64encode(VALUE.encode()).decode()[3:25],
    ],
)
def test_every_form_of_a_value_is_taken_out(written):
    text = mask_text(f"cannot unmarshal {written} into field data", [VALUE])

    assert SCRUBBED in text
    assert "Tr0ub" not in text
    assert VALUE[10:20] not in text
    assert text.startswith("cannot unmarshal ")
    assert text.endswith(" into field data")


def test_short_values_are_taken_out_as_words():
    assert mask_text("bad hunter2 in 'ab' and cab", [SHORT, "ab"]) == f"bad {SCRUBBED} in '{SCRUBBED}' and cab"
    assert mask_text("hunter22 stays", [SHORT]) == "hunter22 stays"


def test_text_without_secrets_is_unchanged():
    assert mask_text("nothing here", [VALUE, ""]) == "nothing here"
    assert mask_text("", [VALUE]) == ""


def test_long_values_are_found_by_their_parts():
    value = "".join(chr(33 + i * 7 % 90) for i in range(9000))

    assert mask_text(f"got {value[5000:5040]}.", [value]).count(SCRUBBED) == 1


def test_find_secrets_reads_every_wrapping():
    inner = {"kind": "Secret", "data": {"a": base64.b64encode(b"inner").decode()}, "stringData": {"n": 7, "e": ""}}
    obj = {
        "items": [{"data": {"x": base64.b64encode(b"listed").decode(), "bad": "no base64!", "z": None}}],
        "metadata": {"annotations": {"saved": json.dumps(inner)}},
        "data": [["deep"]],
    }

    found = find_secrets(obj, gvk=SECRET)

    assert {"inner", "7", "listed", "no base64!"} <= found
    assert "" not in found
    assert find_secrets({"kind": "ConfigMap", "data": {"a": "b"}}, gvk=GroupVersionKind("", "v1", "ConfigMap")) == set()
