"""Every input of every kind is recorded, or it is written down why not."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.conformance.unrecorded import UNRECORDED
from tests.controlplane.playground_kinds import list_kind_inputs, list_rule_inputs
from tests.controlplane.playground_record import list_everyday_inputs, list_further_inputs, list_owner_inputs

pytestmark = pytest.mark.long
WIDE = Path(__file__).parent / "wide"
README = Path(__file__).parent / "README.md"


@cache
def make_names(seed: str) -> tuple[str, ...]:
    return tuple(one["name"] for one in list_kind_inputs(seed))


def list_names(file: str) -> list[str]:
    lines = gzip.decompress((WIDE / file).read_bytes()).splitlines()
    return [json.loads(line)["name"] for line in lines]


@pytest.mark.parametrize(("seed", "file"), [("", "playground-kinds.jsonl.gz"), ("7", "playground-7.jsonl.gz")])
def test_input_that_is_not_recorded_has_its_reason(seed, file):
    made, recorded = make_names(seed), list_names(file)

    assert [name for name in recorded if name not in made] == []
    assert sorted(set(made) - set(recorded)) == sorted(set(made) & set(UNRECORDED))


def test_every_input_of_a_rule_is_recorded():
    made = [one["name"] for one in list_rule_inputs()]

    assert list_names("playground-rules.jsonl.gz") == made


def test_every_input_of_every_day_is_recorded():
    made = [one["name"] for one in list_everyday_inputs()]

    assert sorted(list_names("playground-everyday.jsonl.gz")) == sorted(made)


def test_every_further_input_is_recorded():
    made = [one["name"] for one in list_further_inputs()]

    assert list_names("playground-further.jsonl.gz") == made


def test_every_input_of_last_applied_of_others_is_recorded():
    made = [one["name"] for one in list_owner_inputs()]

    assert list_names("playground-owners.jsonl.gz") == made


def test_readme_counts_the_inputs_by_their_reasons():
    text = README.read_text(encoding="utf-8")

    counted = [f"| {reason} | {count} |" for reason, count in Counter(UNRECORDED.values()).items()]
    assert [line for line in counted if line not in text] == []
    files = ("playground-kinds.jsonl.gz", "playground-7.jsonl.gz")
    recorded = sum(len(list_names(file)) for file in files)
    made = len(make_names("")) + len(make_names("7"))
    assert made - recorded == len(UNRECORDED)
    assert f"Of {made:,} inputs, {len(UNRECORDED)} are not recorded" in text
