"""Credentials are masked in each spelling, and what only looks alike stays readable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from applyviz.engine.diff.credential_names import looks_random
from applyviz.engine.diff.masking import mask
from applyviz.engine.objects.refs import GroupVersionKind

GIVEN = yaml.safe_load((Path(__file__).parent / "written_credentials.yaml").read_text(encoding="utf-8"))
LETTERS, RANDOM = "correcthorse", "Xk7qLm2pRt9w"


def _mask(spec: object) -> Any:
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}
    return mask(thing, gvk=GroupVersionKind("example.com", "v1", "Thing"), tag_key=b"k")["spec"]


@pytest.mark.parametrize("word", [LETTERS, RANDOM])
def test_text_is_masked(word: str) -> None:
    texts = [text.replace("WWWW", word) for text in GIVEN["texts"]]

    assert [text for text in texts if word in _mask({"file": f"a line\n{text}"})["file"]] == []


def test_text_whose_name_may_be_that_of_a_credential_is_masked_if_it_looks_random() -> None:
    texts = [text.replace("WWWW", RANDOM) for text in GIVEN["random"]]

    assert [text for text in texts if RANDOM in _mask({"file": f"a line\n{text}"})["file"]] == []


def test_such_a_text_of_letters_is_readable() -> None:
    texts = [text.replace("WWWW", LETTERS) for text in GIVEN["random"]]

    assert [text for text in texts if _mask({"file": text}) != {"file": text}] == []


@pytest.mark.parametrize("spec", GIVEN["fields"])
def test_field_is_masked(spec: str) -> None:
    shown = json.dumps(_mask(yaml.safe_load(spec.replace("WWWW", RANDOM))), ensure_ascii=False)

    assert (RANDOM in shown, "masked" in shown) == (False, True)


@pytest.mark.parametrize("spec", GIVEN["readable"])
def test_names_of_secrets_and_keys_are_readable(spec: str) -> None:
    given = yaml.safe_load(spec)

    assert _mask(given) == given


def test_other_values_of_a_masked_list_stay() -> None:
    given = {"command": ["redis-cli", "-h", "db"], "args": ["AUTH", RANDOM, "extra"]}

    shown = _mask(given)

    assert (shown["command"], shown["args"][0], shown["args"][2]) == (given["command"], "AUTH", "extra")
    assert given["args"][1] == RANDOM


@pytest.mark.parametrize(
    ("text", "is_constant", "is_random"),
    [
        ("Xk7qLm2pRt9w", False, True),
        ("s3cr3tword", True, True),
        ("s3cr3tword", False, False),
        ("3f9a1c7be24d58061b7a9ce0d4f2856a", False, True),
        ("topology.kubernetes.io/zone", False, False),
        ("/run/s3cr3ts/Db2a", True, False),
        ("k8s-app", True, False),
        ("createdAt", True, False),
        ("2024-01-02T10:00:00Z", True, False),
        ("", True, False),
    ],
)
def test_random_text(text: str, is_constant: bool, is_random: bool) -> None:
    assert looks_random(text, is_constant=is_constant) is is_random
