#!/usr/bin/env python3
"""Verifies an export of the audit log offline: one file that needs only Python's standard library.

    python3 verify_export.py EXPORT.jsonl [--head N:HASH | --heads FILE --key KEY] [--after N:HASH] [--selection]

It calculates every hash again. Each entry must follow the previous one of its chain: the global chain, or that of its
apply run, whose end the global chain anchors. It names the first bad line. A body that a retention policy removed
leaves its hash and an entry about the removal. A body about a Secret that the exporting person may not read is "not
shown"; its hash remains. An export must begin with entry 1, or after the entry of the global chain that `--after`
names. `--head` is a published checkpoint: only with one can missing entries at the end be detected. `--heads` is the
file to which an installation appends its signed checkpoints, `--key` the public key that was stored separately: each
line must be signed with it (Ed25519, RFC 8032), and the export must contain all of them. `--selection` is for exports
of a filter: each entry is verified, but missing entries between them cannot be detected.
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
# The columns that the hash covers, in this order and after the time; for the detail its salted hash.
HASHED = (
    *("chain", "sequence", "action", "actor_id", "actor_name", "roles", "session", "address", "agent"),
    *("request_id", "cluster", "review", "plan", "run", "group", "kind", "namespace", "name", "field_manager"),
    *("plan_digest", "detail_hash"),
)
NAMES = frozenset((*HASHED, "at", "detail", "salt", "pruned_by", "id", "previous_hash", "hash"))
# Verification needs these details, so they are never removed.
KEPT = frozenset(("run.finished", "history.anchored", "history.pruned", "approvals.checked"))
# An export may omit the bodies of these entries about Secrets; the entry hash covers the salted body hash.
WITHHELD = frozenset(("object.intent", "object.result", "live.changed", "live.drifted"))
GLOBAL = 0


@dataclass(frozen=True)
class Head:
    """An entry of the chain by its sequence and hash."""

    sequence: int = 0
    hash: str = GENESIS

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"


class BadLineError(Exception):
    """A line that differs from what was written."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line} is bad: {reason}")
        self.line = line


def parse_head(text: str) -> Head:
    found = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"a head is written sequence:hash, not {text!r}")
    return Head(int(found[1]), found[2])


# Ed25519: the curve -x^2 + y^2 = 1 + d x^2 y^2 over the integers modulo P, its points as (X, Y, Z, T).
P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int, int, int]


def _add(one: Point, other: Point) -> Point:
    a, b = (one[1] - one[0]) * (other[1] - other[0]) % P, (one[1] + one[0]) * (other[1] + other[0]) % P
    c, d = 2 * one[3] * other[3] * D % P, 2 * one[2] * other[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(number: int, point: Point) -> Point:
    total: Point = (0, 1, 1, 0)
    while number:
        total = _add(total, point) if number & 1 else total
        point, number = _add(point, point), number >> 1
    return total


def _find_point(data: bytes) -> Point:
    """Return the point that 32 bytes encode; raises `ValueError` for invalid bytes."""
    number = int.from_bytes(data, "little")
    y, is_odd = number & (2**255 - 1), number >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    if len(data) != 32 or y >= P or x * x % P != square or (x == 0 and is_odd):
        raise ValueError("these bytes are not a point of the curve")
    x = x if x & 1 == is_odd else P - x
    return x, y, 1, x * y % P


def is_signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether the holder of a public key signed a message."""
    try:
        public, half = _find_point(key), _find_point(signature[:32])
    except ValueError:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or scalar >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    base = _find_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    left, right = _times(scalar, base), _add(half, _times(challenge, public))
    return all((left[n] * right[2] - right[n] * left[2]) % P == 0 for n in (0, 1))


def read_heads(lines: Iterable[str], key: bytes) -> dict[int, Head]:
    """Return the checkpoints of a file, by their sequence; raises `ValueError` for a line with a wrong signature."""
    found: dict[int, Head] = {}
    for number, line in enumerate(lines, start=1):
        try:
            published = json.loads(line)
            head, signature = parse_head(published["head"]), bytes.fromhex(published["signature"])
            message = f"applyviz head of the history\n{head}\n{published['at']}\n".encode()
        except (KeyError, TypeError, ValueError, argparse.ArgumentTypeError) as error:
            raise ValueError(f"line {number} is not a published checkpoint: {error}") from None
        if not is_signed(key, message, signature):
            raise ValueError(f"line {number} is not signed with the key: head {head}")
        if found.setdefault(head.sequence, head) != head:
            raise ValueError(f"line {number} contradicts an earlier one about entry {head.sequence}")
    return found


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def read_entry(text: str) -> dict[str, Any]:
    """Parse one line as an entry; raises `ValueError`."""
    entry = json.loads(text, object_pairs_hook=_refuse_twins, parse_constant=_refuse_constant)
    if not isinstance(entry, dict):
        raise ValueError("it is not an entry")
    if entry.keys() != NAMES:
        raise ValueError(f"fields are missing or too many: {', '.join(sorted(entry.keys() ^ NAMES))}")
    numbers, texts = ("id", "chain", "sequence"), ("previous_hash", "hash", "detail_hash", "salt", "action")
    if any(type(entry[n]) is not int for n in numbers) or not all(isinstance(entry[n], str) for n in texts):
        raise ValueError("a number or a hash has the wrong type")
    if not isinstance(entry["detail"], dict):
        raise ValueError("its detail has the wrong type")
    return entry


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def calculate_hash(entry: dict[str, Any]) -> str:
    """Return the hash of an entry: sha256 over the hash before it and the rest as JSON without spaces."""
    text = json.dumps([entry["at"], *(entry[name] for name in HASHED)], separators=(",", ":"))
    return hashlib.sha256((entry["previous_hash"] + text).encode()).hexdigest()


def is_withheld(entry: dict[str, Any]) -> bool:
    """Return whether the export omits the details of a write to a Secret that its reader may not read."""
    is_telling = entry["kind"] == "Secret" and not entry["group"] and entry["action"] in WITHHELD
    return is_telling and not entry["salt"] and entry["detail"] == {"detail": "not-shown"}


def find_content_fault(entry: dict[str, Any]) -> str:
    """Return why an entry differs from what was written; "" when it does not."""
    if entry["hash"] != calculate_hash(entry):
        return "the content of {} is not what was written"
    if entry["pruned_by"] is not None:
        is_left = entry["detail"] or entry["salt"] or entry["action"] in KEPT
        return "the body of {} is not what was written" if is_left else ""
    if is_withheld(entry):
        return ""
    body = hashlib.sha256((entry["salt"] + _canonical(entry["detail"])).encode()).hexdigest()
    return "" if entry["detail_hash"] == body else "the body of {} is not what was written"


def name_entry(chain: int, sequence: int) -> str:
    return f"entry {sequence} of the chain of run {chain}" if chain else f"entry {sequence}"


@dataclass
class ChainReader:
    """The position of each chain, and the statements of entries; `heads` are published checkpoints by sequence."""

    heads: dict[int, Head]
    is_selection: bool
    stands: dict[int, Head]
    starts: dict[int, str]
    removed: dict[int, int]
    details: dict[int, Any]
    is_whole: bool
    number: int = 0
    approvals: int = 0
    verdict: tuple[int, int] | None = None

    def find_fault(self, entry: dict[str, Any]) -> str:
        """Return why an entry cannot come next; "" when it can."""
        chain, sequence = entry["chain"], entry["sequence"]
        before, here = self.stands.get(chain), name_entry(chain, sequence)
        if entry["id"] <= self.number:
            return f"{here} comes after number {self.number}"
        if before is None and chain and self.is_whole:
            before = Head(0, self.starts.get(chain, GENESIS))
        if before is not None:
            if sequence <= before.sequence:
                return f"{here} comes after {name_entry(chain, before.sequence)}"
            if not self.is_selection and sequence != before.sequence + 1:
                return f"{name_entry(chain, before.sequence + 1)} is missing"
            if sequence == before.sequence + 1 and entry["previous_hash"] != before.hash:
                return f"{here} does not follow the entry before it"
        return find_content_fault(entry).format(here) or self.find_promise_fault(entry)

    def find_promise_fault(self, entry: dict[str, Any]) -> str:
        """Return why a published checkpoint or an anchor does not match; "" when both do."""
        found = Head(entry["sequence"], entry["hash"])
        if entry["chain"] != GLOBAL:
            return ""
        if self.heads.get(found.sequence, found) != found:
            return f"entry {found.sequence} is not the published checkpoint"
        if entry["action"] == "approvals.checked":
            return self.find_verdict_fault(entry)
        if self.is_selection or entry["action"] not in ("history.anchored", "run.finished"):
            return ""
        for chain, named in (entry["detail"].get("heads") or {}).items():
            stands = self.stands.get(int(chain))
            if stands is None and (not self.is_whole or named.startswith("0:")):
                continue
            if stands is None or str(stands) != named:
                here = name_entry(GLOBAL, entry["sequence"])
                return f"{here} anchors {named.partition(':')[0]} entries of run {chain}, which are missing or changed"
        return ""

    def find_verdict_fault(self, entry: dict[str, Any]) -> str:
        """Return why the recorded check of approvals is not clean or does not match the entries; "" when it does."""
        here, detail = name_entry(GLOBAL, entry["sequence"]), entry["detail"]
        if detail.get("forged in all") != 0:
            return f"{here} records forged approvals: {'; '.join(detail.get('forged') or ['unnamed'])}"
        count = detail.get("approvals")
        if self.is_whole and count != self.approvals:
            return f"{here} records {count} approvals, the audit log has {self.approvals}"
        return ""

    def take(self, entry: dict[str, Any]) -> None:
        """Remember a good entry."""
        self.number = entry["id"]
        self.stands[entry["chain"]] = Head(entry["sequence"], entry["hash"])
        if entry["action"] == "run.started" and entry["run"] is not None:
            self.starts.setdefault(entry["run"], entry["hash"])
        self.approvals += entry["action"] == "approval.given"
        if entry["action"] == "approvals.checked":
            self.verdict = (entry["sequence"], entry["detail"]["approvals"])
        if entry["pruned_by"] is not None:
            self.removed[entry["pruned_by"]] = self.removed.get(entry["pruned_by"], 0) + 1
        if entry["chain"] == GLOBAL and entry["action"] == "history.pruned":
            self.details[entry["sequence"]] = entry["detail"]

    def find_end_fault(self) -> str:
        """Return whether the export is complete up to the published checkpoint, and every removal is recorded."""
        last = self.stands.get(GLOBAL, Head())
        head = max(self.heads, default=0)
        if not self.is_selection and last.sequence < head:
            return f"entries {last.sequence + 1} to {head}, the published checkpoint, are missing"
        if self.is_selection or not self.is_whole:
            return ""
        for sequence, count in sorted(self.removed.items()):
            detail = self.details.get(sequence, {}).get("entries", "nothing")
            if detail != count:
                return f"{count} removed bodies refer to entry {sequence}, which records {detail}"
        return ""


def check_line(line: bytes, walk: ChainReader) -> None:
    """Take the entry of a line; raises `ValueError` with the reason when it is bad."""
    try:
        entry = read_entry(line.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it cannot be read: {error}") from None
    fault = walk.find_fault(entry)
    if fault:
        raise ValueError(fault)
    walk.take(entry)


def verify_lines(
    lines: Iterable[bytes], *, after: Head | None, heads: dict[int, Head], is_selection: bool
) -> ExportReport:
    """Verify all lines; raises `BadLineError` at the first bad one."""
    start = {} if is_selection else {GLOBAL: after or Head()}
    walk = ChainReader(heads, is_selection, start, {}, {}, {}, is_whole=after is None and not is_selection)
    number = 0
    for number, line in enumerate(lines, start=1):
        try:
            check_line(line, walk)
        except ValueError as error:
            raise BadLineError(number, str(error)) from None
    fault = walk.find_end_fault()
    if fault:
        raise BadLineError(number + 1, fault)
    removed = {str(walk.details.get(sequence, {}).get("policy", "")): 0 for sequence in walk.removed}
    for sequence, count in walk.removed.items():
        removed[str(walk.details.get(sequence, {}).get("policy", ""))] += count
    last = walk.stands.get(GLOBAL, Head())
    return ExportReport(number, last, len(walk.stands.keys() - {GLOBAL}), removed, walk.verdict, max(heads, default=0))


@dataclass(frozen=True)
class ExportReport:
    """The number of entries, the end of the global chain, and the bodies that policies removed."""

    entries: int
    last: Head
    runs: int
    removed: dict[str, int]
    verdict: tuple[int, int] | None
    published: int

    def print_verdict(self) -> str:
        """Return the recorded check of approvals, and whether a published checkpoint covers it."""
        if self.verdict is None:
            return "approvals were not checked: each published checkpoint includes a check"
        sequence, count = self.verdict
        covered = (
            "a published checkpoint covers it" if sequence <= self.published else "no published checkpoint covers it"
        )
        return f"{count} approvals were found genuine at entry {sequence}; {covered}"


def main() -> int:
    """Verify one export and print the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", help="a file of JSON Lines, - for standard input")
    parser.add_argument("--head", type=parse_head, metavar="N:HASH", help="a published checkpoint")
    parser.add_argument("--heads", metavar="FILE", help="a file of signed checkpoints, one per line")
    parser.add_argument("--key", type=bytes.fromhex, help="the public key of the installation, hexadecimal")
    parser.add_argument("--after", type=parse_head, metavar="N:HASH", help="the entry before the first line")
    parser.add_argument("--selection", action="store_true", help="entries between the lines may be left out")
    given = parser.parse_args()
    if (given.heads is None) != (given.key is None):
        parser.error("--heads and --key belong together")
    heads = {given.head.sequence: given.head} if given.head else {}
    try:
        if given.heads is not None:
            with open(given.heads, encoding="utf-8") as lines:  # noqa: PTH123 - one file
                heads |= read_heads(lines, given.key)
    except (OSError, ValueError) as error:
        print(f"{given.heads}: {error}", file=sys.stderr)
        return 2
    try:
        with sys.stdin.buffer if given.export == "-" else open(given.export, "rb") as lines:  # noqa: PTH123 - one file
            found = verify_lines(lines, after=given.after, heads=heads, is_selection=given.selection)
    except OSError as error:
        print(f"{given.export}: {error.strerror}", file=sys.stderr)
        return 2
    except BadLineError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{found.entries} entries are intact, {found.runs} run chains among them; last {found.last}")
    for policy, count in sorted(found.removed.items()):
        print(f"{count} bodies were removed by policy {policy or 'that is not in the export'}")
    if given.heads or found.verdict:
        print(found.print_verdict())
    if given.selection:
        print("a selection: missing entries in between cannot be detected")
    elif not heads:
        print("no published checkpoint given: missing entries at the end cannot be detected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
