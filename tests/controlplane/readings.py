"""Texts at random, read by kubectl's own visitors and by the reader: do both see the same objects?

    python -m tests.controlplane.readings --cases 20000 --seed 7

Scalars of odd spellings, nested blocks and flows with tags, anchors, aliases and merge keys, streams of several
documents, and recorded documents with some characters changed. Where kubectl refuses, the reader has to refuse too.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.values import is_same_json
from tests.controlplane.explore import find_documents
from tests.controlplane.judge import Judge, find_oracle

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: case\n"
RECORDED = Path(__file__).parents[1] / "cases" / "reading" / "documents.json"
# What `kubectl apply` asks for beyond what its visitors do.
_ASKED_BY_APPLY = ("resource name may not be empty", "cannot use generate name", "apiVersion is empty")
_WORDS = (
    "y",
    "N",
    "on",
    "Off",
    "yes",
    "null",
    "~",
    "",
    "true",
    "TRUE",
    ".inf",
    "-.Inf",
    ".nan",
    "<<",
    "=",
    "a b",
    "é",
    "-",
    "?",
)
_DIGITS = "0123456789._-+eExXoObBaAfF:"
_MARKS = "!&*[]{},:?#|>-'\"%@`\\/<>=~ \t\n"
_TAGS = ("!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!binary", "!!map", "!!seq", "!!set", "!x", "!!merge")
_URI = "ab1-_;/?:@&=+$.!~*'()[],%5D"
_ANCHORS = ("a", "b", "c1", "x-y")


class Writer:
    """Writes texts; the same seed writes the same ones."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.recorded = [c["text"] for c in json.loads(RECORDED.read_text())["cases"] if "text" in c]

    def write(self) -> str:
        """One file."""
        turn = self.rng.random()
        if turn < 0.35:
            return f"{HEAD}data:\n  field: {self.scalar()}\n"
        if turn < 0.45:
            return f"{HEAD}data:\n  {self.scalar()}: field\n"
        if turn < 0.8:
            return f"{HEAD}data:{self.block(1)}\n"
        return self.disturb(self.rng.choice(self.recorded) if turn < 0.9 else f"{HEAD}data:{self.block(1)}\n")

    def scalar(self) -> str:
        """Plain, quoted or tagged; many are none at all."""
        rng, turn = self.rng, self.rng.random()
        if turn < 0.35:
            return "".join(rng.choices(_DIGITS, k=rng.randint(1, 9)))
        if turn < 0.5:
            return rng.choice(_WORDS)
        if turn < 0.6:
            return "".join(rng.choices(_DIGITS + _MARKS[:-1] + "ab", k=rng.randint(1, 6)))
        if turn < 0.7:
            return rng.choice(("'{}'", '"{}"', '"\\{}"')).format(
                "".join(rng.choices("a1y0:# \\xun", k=rng.randint(0, 5)))
            )
        if turn < 0.9:
            return f"{self.tag()}{rng.choice((' ', ' ', '  ', ''))}{self.scalar()}"
        return rng.choice((f"&{rng.choice(_ANCHORS)} {self.scalar()}", f"*{rng.choice(_ANCHORS)}"))

    def tag(self) -> str:
        """A tag that YAML defines, one that it does not, or one with unusual characters."""
        turn = self.rng.random()
        if turn < 0.55:
            return self.rng.choice(_TAGS)
        if turn < 0.65:
            return f"!<tag:yaml.org,2002:{self.rng.choice(('str', 'int', 'bool', 'x'))}>"
        return self.rng.choice(("!", "!!")) + "".join(self.rng.choices(_URI, k=self.rng.randint(1, 4)))

    def properties(self) -> str:
        """An anchor, a tag, both, or mostly nothing."""
        turn = self.rng.random()
        anchor, tag = f"&{self.rng.choice(_ANCHORS)}", self.tag()
        return {0: f" {anchor}", 1: f" {tag}", 2: f" {anchor} {tag}", 3: f" {tag} {anchor}"}.get(int(turn * 14), "")

    def key(self) -> str:
        """Mostly plain."""
        turn = self.rng.random()
        return self.rng.choice("abcdef") if turn < 0.6 else "<<" if turn < 0.7 else self.scalar()

    def block(self, depth: int) -> str:
        """A value behind its key, in block or flow style."""
        rng, turn = self.rng, self.rng.random()
        if depth > 4 or turn < 0.3:
            return f"{self.properties()} {self.scalar()}"
        if turn < 0.5:
            return f"{self.properties()} {self.flow(depth)}"
        if turn < 0.57:
            return self.literal(depth)
        indent, comment = "  " * depth, rng.choice(("", "", "", " # c"))
        if turn < 0.72:
            lines = [f"{indent}-{self.block(depth + 1)}" for _ in range(rng.randint(1, 3))]
        else:
            lines = [f"{indent}{self.key()}:{self.block(depth + 1)}" for _ in range(rng.randint(1, 4))]
        return f"{self.properties()}{comment}\n" + "\n".join(lines)

    def literal(self, depth: int) -> str:
        """A block scalar."""
        rng = self.rng
        head = rng.choice("|>") + rng.choice(("", "", "-", "+", "1", "2-", "+9"))
        lines = [
            " " * rng.choice((2 * depth, 2 * depth, 2 * depth + 1, 0)) + rng.choice(("a", "", "b: c", "#x", "\tq"))
            for _ in range(3)
        ]
        return f" {head}\n" + "\n".join(lines)

    def flow(self, depth: int) -> str:
        """A list or mapping in braces."""
        rng = self.rng
        if depth > 4 or rng.random() < 0.3:
            return self.scalar()
        parts = [
            self.properties().strip() + rng.choice((" ", "")) + self.flow(depth + 1) for _ in range(rng.randint(0, 3))
        ]
        if rng.random() < 0.5:
            return "[" + rng.choice((", ", ",")).join(parts) + rng.choice(("", "", ",")) + "]"
        colon = rng.choice((": ", ": ", ":", " : "))
        return "{" + ", ".join(f"{self.key()}{colon}{part}" for part in parts) + "}"

    def disturb(self, text: str) -> str:
        """Some characters lost, doubled or put in."""
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randint(0, len(text))
            odd = self.rng.choice(
                (*_MARKS, "---\n", "\r\n", "\ufeff", "\x85", "\u2028", "\x07", "\0", "&a ", "*a", "<<: *a", "...\n")
            )
            turn = self.rng.random()
            text = text[:at] + (odd if turn < 0.7 else "") + text[at + (turn > 0.5) :]
        return text

    def spoil(self, data: bytes) -> bytes:
        """Now and then bytes that are no UTF-8, or another encoding."""
        rng, turn = self.rng, self.rng.random()
        if turn < 0.04:
            at = rng.randint(0, len(data))
            odd = bytes(
                rng.choice((0x80, 0xBF, 0xC2, 0xE2, 0x82, 0xED, 0xA0, 0xF0, 0x9F, 0xFF))
                for _ in range(rng.randint(1, 4))
            )
            return data[:at] + odd + data[at:]
        if turn < 0.05:
            codec, mark = rng.choice(
                (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff"), ("utf-8", b"\xef\xbb\xbf"))
            )
            return mark + data.decode("utf-8", "replace").encode(codec, "replace")
        return data


def _without_namespace(obj: dict[str, Any]) -> dict[str, Any]:
    # Without a server kubectl takes every kind for one of the whole cluster.
    return {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "namespace"}}


def find_difference(data: bytes, answer: dict[str, Any]) -> str:
    """Where the reader sees something else than kubectl; "" when it does not."""
    parsed = parse_manifests(data, "case.yaml")
    own = [p for p in parsed.problems if not any(w in p.reason for w in _ASKED_BY_APPLY)]
    if answer.get("error") and parsed.problems and not own:
        return ""  # refused by both; which of several reasons is named first may differ
    if any("kubectl takes one of them at random" in p.reason for p in own):
        return ""
    if bool(own) != bool(answer.get("error")):
        return f"kubectl says {answer.get('error', 'nothing')!r}, the reader {[str(p) for p in parsed.problems]}"
    got = [_without_namespace(d.obj) for d in parsed.documents[: parsed.kubectl_stops_after]]
    named = [
        _without_namespace(o) for o in answer["objects"] if o["apiVersion"] and (o.get("metadata") or {}).get("name")
    ]
    return "" if is_same_json(got, named) else f"{got!r} instead of {named!r}"


def find_disagreements(count: int, seed: int) -> Iterator[tuple[bytes, str]]:
    """Texts with what is different about them."""
    writer = Writer(random.Random(seed))
    with Judge(find_oracle(), find_documents()) as judge:
        for _ in range(count):
            text = writer.write()
            data = writer.spoil(text.encode("utf-8", "surrogatepass"))
            answer = judge.ask({"op": "reading", "input": {"data": base64.b64encode(data).decode()}})
            if answer is not None and (difference := find_difference(data, answer)):
                yield data, difference


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    count = 0
    for data, difference in find_disagreements(options.cases, options.seed):
        count += 1
        sys.stdout.write(f"{data!r}\n  {difference}\n")
    sys.stdout.write(f"{options.cases - count:,} of {options.cases:,} agree\n")


if __name__ == "__main__":
    main()
