"""Bombs: each is refused with a reason, the good file beside it is read, and this process lives."""

from __future__ import annotations

import json
import threading

import pytest

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.sources import sandboxed
from applyviz.sources.bundle import BundledFile, SourceBundle
from applyviz.sources.child import ChildLimits
from applyviz.sources.sandboxed import read_files

GOOD = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\ndata: {x: yes, y: 1, y: 2}\n"
MERGES = "".join(f"k{n}: &k{n} {{<<: [*k{n - 1}, *k{n - 1}]}}\n" for n in range(1, 26))
ALIASES = "".join(f"k{n}: &k{n} [{','.join([f'*k{n - 1}'] * 9)}]\n" for n in range(1, 12))
BOMBS = {
    "aliases": ("k0: &k0 [x]\n" + ALIASES, "document contains excessive aliasing"),
    "merges": ("k0: &k0 {a: 1}\n" + MERGES, "document contains excessive aliasing"),
    "self": ("a: &a [*a]\n", "anchor value contains itself"),
    "flow": ("[" * 50_000, "nested deeper than 200 levels"),
    "flow-million": ("[" * 1_000_000, "nested deeper than 200 levels"),
    "flow-maps": ("{a: " * 50_000, "nested deeper than 200 levels"),
    "blocks": ("- " * 50_000, "nested deeper than 200 levels"),
    "indents": ("\n".join(" " * n + "a:" for n in range(400)), "nested deeper than 200 levels"),
    "json": ('{"a":' * 100_000, "nested deeper than 200 levels"),
    "json-lists": ('{"a":' + "[" * 1_000_000, "nested deeper than 200 levels"),
    "values": ("a:\n  - " + "[" + "1," * 1_000_001 + "]", "more than 1,000,000 values"),
    "digits": ('{"a":' + "9" * 500_000 + "}", "json: cannot unmarshal number"),
    "nan": ("a: .nan\n", "json: unsupported value: NaN"),
    "infinity": ('{"a": Infinity}', "not set"),
    "document": ("# " + "x" * 3_200_000, "the document is larger than 3,145,728 bytes"),
    "file": ("#\n" * 5_300_000, "the file is larger than 10,485,760 bytes"),
}


def bundle_of(**texts: str | bytes) -> SourceBundle:
    return SourceBundle.of(
        BundledFile(f"{name}.yaml", text.encode() if isinstance(text, str) else text) for name, text in texts.items()
    )


@pytest.mark.core(2)
@pytest.mark.parametrize("name", BOMBS)
def test_bomb_is_refused_with_its_reason(name: str) -> None:
    text, reason = BOMBS[name]

    bomb, good = read_files(bundle_of(bomb=text, good=GOOD)).files

    assert bomb.documents == ()
    assert [reason in problem.reason for problem in bomb.problems] == [True]
    assert bomb.problems[0].position.file == "bomb.yaml"
    assert [document.ref.name for document in good.documents] == ["good"]


def test_large_numbers_are_read_as_kubectl_reads_them() -> None:
    text = "apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: 0x" + "f" * 100_000 + "\nz: " + "9" * 100_000 + "\n"

    (parsed,) = read_files(bundle_of(numbers=text)).files

    assert parsed.documents[0].obj["x"] == "0x" + "f" * 100_000
    assert parsed.documents[0].obj["z"] == "9" * 100_000


def test_child_gives_what_parsing_here_gives() -> None:
    text = (
        GOOD + b"---\na: [\n---\nkind: List\napiVersion: v1\nitems: [{apiVersion: v1, kind: A, metadata: {name: b}}]\n"
    )

    (parsed,) = read_files(bundle_of(good=text)).files

    here = parse_manifests(text, "good.yaml")
    assert [d.obj for d in parsed.documents] == [d.obj for d in here.documents]
    assert [(d.position, d.end_line, d.retyped, d.duplicates, d.list_kind) for d in parsed.documents] == [
        (d.position, d.end_line, d.retyped, d.duplicates, d.list_kind) for d in here.documents
    ]
    assert parsed.documents[0].positions.find(("data", "y")) == here.documents[0].positions.find(("data", "y"))
    assert (parsed.problems, parsed.kubectl_stops_after) == (here.problems, here.kubectl_stops_after)


def test_file_that_needs_too_much_memory_is_refused_and_the_rest_is_read() -> None:
    wide = "apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: [" + "{a: b}," * 200_000 + "]\n"
    limits = ChildLimits(memory_bytes=96 * 1024 * 1024)

    first, large, last = read_files(bundle_of(first=GOOD, large=wide, last=GOOD), child_limits=limits).files

    assert len(first.documents) == len(last.documents) == 1
    assert large.documents == ()
    assert "memory" in large.problems[0].reason


@pytest.mark.long
def test_file_that_takes_too_long_is_refused_and_the_rest_is_read() -> None:
    # Three documents near the limit of size: even a fast machine reads longer at them than a slow one starts a child.
    document = "apiVersion: v1\nkind: A\nmetadata: {name: a}\nx: [" + "{a: b}," * 400_000 + "]\n"
    limits = ChildLimits(wall_seconds=3)

    slow, good = read_files(bundle_of(slow="---\n".join([document] * 3), good=GOOD), child_limits=limits).files

    assert slow.problems[0].reason == "reading it took longer than 3 seconds"
    assert len(good.documents) == 1


def test_many_broken_files_end_the_reading() -> None:
    long = "x: [" + "{a: b}," * 200_000 + "]\n"
    limits = ChildLimits(memory_bytes=8 * 1024 * 1024, broken_files=2)

    parsed = read_files(bundle_of(a=long, b=long, c=GOOD), child_limits=limits).files

    assert [len(file.problems) for file in parsed] == [1, 1, 1]
    assert parsed[2].problems[0].reason == (
        "not read: 2 other files of this source could not be read within the limits"
    )


def answer_of(**changed: object) -> bytes:
    """Return the line of a child for one document, with some of its parts replaced."""
    parts: dict[str, object] = {"obj": {"kind": "A"}, "at": [1, 1, 0, 0], "end": 1, "tree": {"": 1}}
    parts |= {"retyped": [], "duplicates": [], "list": "", "patch": None} | changed
    return json.dumps([[list(parts.values())], [], None, None]).encode()


MALFORMED = {
    "no JSON": b"{",
    "no list": b"1",
    "an empty list": b"[]",
    "nested too deeply": b"[" * 100_000 + b"]" * 100_000,
    "no documents": b"[1, [], null, null]",
    "an object that is text": answer_of(obj="x"),
    "a number that JSON does not have": answer_of(obj={"a": float("nan")}),
    "a position that is text": answer_of(at=["1", 1, 0, 0]),
    "too many positions": answer_of(at=[1, 1, 0, 0, 0, 0]),
    "a tree that is text": answer_of(tree="x"),
    "a tree without its own mark": answer_of(tree={"a": 1}),
    "an empty list in a tree": answer_of(tree={"": 1, "a": []}),
    "text in a tree": answer_of(tree={"": 1, "a": [1, {"": 1, "b": "x"}]}),
    "an unknown retyping": answer_of(retyped=[[[], "yes", True, "other", [1, 1], False]]),
    "an unknown patch": answer_of(patch=["other", {}, ""]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_file_with_a_malformed_answer_is_refused_and_the_others_are_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(module: str, message: bytes, limits: ChildLimits) -> tuple[bytes, str]:
        return b"\n".join((answer_of(), MALFORMED[name], answer_of(), b"")), ""

    monkeypatch.setattr(sandboxed, "ask_child", answer)
    found = read_files(bundle_of(first=GOOD, odd=GOOD, last=GOOD))

    first, odd, last = found.files
    assert (len(first.documents), len(last.documents), found.lines) == (1, 1, None)
    assert (odd.file, odd.documents, odd.kubectl_stops_after) == ("odd.yaml", (), 0)
    assert [str(problem) for problem in odd.problems] == [
        "odd.yaml: it cannot be read: the process that parses manifests gave no valid answer"
    ]


def test_bundles_are_read_from_many_threads_at_once() -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(len(read_files(bundle_of(a=GOOD)).files[0].documents)))
        for _ in range(4)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [1, 1, 1, 1]
