#!/usr/bin/env python3
"""Checks an export of the history offline: one file, Python's standard library alone, nothing of applyviz.

    python3 verify_export.py EXPORT.jsonl [--head N:HASH] [--after N:HASH] [--selection]

Every hash is calculated again, and each entry must follow the one before it; the first bad line is named.
An export is expected to begin with entry 1, or behind the entry that `--after` names. `--head` is a head that was
published: only with it can missing entries at the end be noticed. `--selection` is for exports of a filter: each
entry is checked, but nobody can tell whether entries between them are missing.
Exit status: 0 intact, 1 a line is bad, 2 the export cannot be read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

GENESIS = "0" * 64
HASHED = frozenset(
    (
        *("sequence", "at", "action", "actor_id", "actor_name", "request_id", "cluster", "review", "plan", "run"),
        *("group", "kind", "namespace", "name", "field_manager", "plan_digest", "detail"),
    )
)


@dataclass(frozen=True)
class Head:
    """An entry of the chain by its sequence and hash."""

    sequence: int = 0
    hash: str = GENESIS

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"


class BadLineError(Exception):
    """A line that is not as it was written."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line} is bad: {reason}")
        self.line = line


def parse_head(text: str) -> Head:
    found = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"a head is written sequence:hash, not {text!r}")
    return Head(int(found[1]), found[2])


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def read_entry(text: str) -> dict[str, Any]:
    """One line as an entry; raises `ValueError`."""
    entry = json.loads(text, object_pairs_hook=_refuse_twins, parse_constant=_refuse_constant)
    if not isinstance(entry, dict):
        raise ValueError("it is no entry")
    names = HASHED | {"previous_hash", "hash"}
    if entry.keys() != names:
        raise ValueError(f"fields are missing or too many: {', '.join(sorted(entry.keys() ^ names))}")
    if type(entry["sequence"]) is not int or not all(isinstance(entry[n], str) for n in ("previous_hash", "hash")):
        raise ValueError("sequence or hash has the wrong type")
    return entry


def calculate_hash(entry: dict[str, Any]) -> str:
    """The hash of an entry: sha256 over the hash before it and the rest as JSON with sorted keys, no spaces."""
    content = {name: entry[name] for name in HASHED}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256((entry["previous_hash"] + text).encode()).hexdigest()


def find_fault(entry: dict[str, Any], before: Head | None, *, is_selection: bool) -> str:
    """Why an entry cannot follow `before`; "" when it can."""
    number = entry["sequence"]
    if before is not None:
        if number <= before.sequence:
            return f"entry {number} stands behind entry {before.sequence}"
        if not is_selection and number != before.sequence + 1:
            return f"entry {before.sequence + 1} is missing"
        if number == before.sequence + 1 and entry["previous_hash"] != before.hash:
            return f"entry {number} does not follow the entry before it"
    return "" if entry["hash"] == calculate_hash(entry) else f"the content of entry {number} is not what was written"


def check_line(line: bytes, before: Head | None, head: Head | None, *, is_selection: bool) -> Head:
    """The entry of a line; raises `ValueError` with the reason when it is bad."""
    try:
        entry = read_entry(line.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it cannot be read: {error}") from None
    found = Head(entry["sequence"], entry["hash"])
    fault = find_fault(entry, before, is_selection=is_selection)
    if not fault and head is not None and found.sequence == head.sequence and found != head:
        fault = f"entry {head.sequence} is not the published head"
    if fault:
        raise ValueError(fault)
    return found


def verify_lines(
    lines: Iterable[bytes], *, after: Head | None, head: Head | None, is_selection: bool
) -> tuple[int, Head]:
    """Check all lines; gives how many there are and the last entry, raises `BadLineError`."""
    before = after or (None if is_selection else Head())
    number = 0
    for number, line in enumerate(lines, start=1):
        try:
            before = check_line(line, before, head, is_selection=is_selection)
        except ValueError as error:
            raise BadLineError(number, str(error)) from None
    last = before or Head()
    if head is not None and not is_selection and last.sequence < head.sequence:
        reason = f"entries {last.sequence + 1} to {head.sequence}, the published head, are missing"
        raise BadLineError(number + 1, reason)
    return number, last


def main() -> int:
    """Check one export and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", help="a file of JSON Lines, - for standard input")
    parser.add_argument("--head", type=parse_head, metavar="N:HASH", help="a published head")
    parser.add_argument("--after", type=parse_head, metavar="N:HASH", help="the entry before the first line")
    parser.add_argument("--selection", action="store_true", help="entries between the lines may be left out")
    given = parser.parse_args()
    try:
        with sys.stdin.buffer if given.export == "-" else open(given.export, "rb") as lines:  # noqa: PTH123 - one file
            count, last = verify_lines(lines, after=given.after, head=given.head, is_selection=given.selection)
    except OSError as error:
        print(f"{given.export}: {error.strerror}", file=sys.stderr)
        return 2
    except BadLineError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} entries are intact; last {last}")
    if given.selection:
        print("a selection: whether entries between them are missing cannot be told")
    elif given.head is None:
        print("no published head was given: whether entries at the end are missing cannot be told")
    return 0


if __name__ == "__main__":
    sys.exit(main())
