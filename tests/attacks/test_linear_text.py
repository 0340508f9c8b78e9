"""Reading text of visitors and servers takes time in proportion to its length, however hostile it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from applyviz.engine.diff.commands import find_arguments
from applyviz.engine.diff.credentials import is_ciphertext, redact
from applyviz.engine.diff.embedded import looks_secret
from applyviz.engine.diff.given_credentials import list_credentials
from applyviz.engine.diff.repeating import Repeats
from applyviz.engine.diff.words import align
from applyviz.engine.objects.refs import GroupVersionKind, ObjectRef
from applyviz.engine.planning.conflicts.server_errors import ServerError, find_path, read_server_errors
from applyviz.engine.risks import repeating
from applyviz.engine.risks.model import RiskSubject
from applyviz.engine.schema.builtin import bundled
from applyviz.guide.owned import own_fields
from applyviz.kubernetes.parity.line_differences import render_differences
from applyviz.kubernetes.parity.status import StatusError
from applyviz.kubernetes.v1_36.warnings.kinds import list_warnings
from applyviz.sandbox.api.label_selectors import parse_label_selector
from applyviz.sandbox.cel.programs import evaluate
from applyviz.sandbox.cel.values import CelError
from applyviz.sandbox.schema.formats import has_format
from tests.pace import measure

pytestmark = pytest.mark.attacks
SHORT, TIMES, MOST_SECONDS = 20_000, 4, 0.5
LIVE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def select(text: str) -> None:
    with pytest.raises(StatusError):
        parse_label_selector(text)


def own(text: str) -> None:
    own_fields(LIVE, f"me: {text}", kind=None)


def complain(text: str) -> None:
    for server_error in read_server_errors(text):
        find_path(server_error, {"a": {}})


def find(text: str) -> None:
    find_path(ServerError(text, ""), {"a": {}})


def hide(text: str) -> None:
    redact(text, lambda value, name: "")


def pass_arguments(text: str) -> None:
    assert not find_arguments(text.split())


def list_given(text: str) -> None:
    list_credentials(f"kind: Secret\nstringData:\n{text}\n")


def judge_sealed(text: str) -> None:
    assert not is_ciphertext(text)


def seek(text: str) -> None:
    looks_secret(text)


def find_cut(text: str) -> None:
    notes = {f"note{n}": text[n : n + 500] for n in range(0, len(text), 500)}
    assert Repeats(["q7Rz0xWv-canary"]).find_cut(notes, notes)


def read_format(text: str) -> None:
    assert not has_format(text, "duration")


def read_double(text: str) -> None:
    with pytest.raises(CelError):
        evaluate("double(text)", {"text": text})


def differ(text: str) -> None:
    before = {f"{text[:1]}{n}": n for n in range(len(text) // 20)}
    render_differences(before, {name: -n if n % 2 else n for name, n in before.items()})


def repeat_set(text: str) -> None:
    given, live = (
        {**LIVE, "metadata": {"name": "c", "finalizers": own}} for own in (text.split(), text.upper().split())
    )
    kind = bundled().find_kind(GroupVersionKind("", "v1", "ConfigMap"))
    ref = ObjectRef.from_object(LIVE)
    assert not list(
        repeating.find(
            RiskSubject(ref, manifest=given, live=live, after=live, patch={}, is_server_side=False, kind=kind)
        )
    )


def warn_of_ports(text: str) -> None:
    container = {"name": "c", "ports": [{"containerPort": 1, "hostIP": text[:1]} for _ in range(len(text) // 20)]}
    assert list_warnings("", "pods", {**LIVE, "spec": {"containers": [container]}}, None)


def warn_of_files(text: str) -> None:
    items = [{"key": "k", "path": f"{text[:1]}{n}"} for n in range(len(text) // 20)]
    spec = {"containers": [], "volumes": [{"name": "v", "configMap": {"name": "c", "items": items}}]}
    assert not list_warnings("", "pods", {**LIVE, "spec": spec}, None)


def compare_lines(text: str) -> None:
    """Lines that repeat each other, up to the number that is compared."""
    few = len(text) // 50
    sides = [[line for n in range(few) for line in ("a", "b")[n % step == 0]] for step in (2, 3)]
    assert list(align(*sides))


HOSTILE: dict[str, tuple[Callable[[str], None], Callable[[int], str]]] = {
    "blanks before nothing": (select, lambda n: " " * n + "("),
    "blanks behind an operator": (select, lambda n: "a=" + " " * n + "("),
    "open brackets": (own, lambda n: "." + "[" * n),
    "an open quote": (own, lambda n: "[" * n + '"\\'),
    "unreadable again and again": (complain, lambda n: "cannot unmarshal x" * (n // 18)),
    "one long unreadable word": (complain, lambda n: "cannot unmarshal " + "x" * n),
    "typed again and again": (complain, lambda n: "): .a" * (n // 5)),
    "brackets in a refusal": (complain, lambda n: "." + "[" * n + ": no"),
    "a path of many steps": (find, lambda n: "a." * (n // 2)),
    "a path of brackets": (find, lambda n: "[" * n),
    "beginnings of web tokens": (hide, lambda n: "eyJ-" * (n // 4)),
    "parts of web tokens": (hide, lambda n: "eyJabcdefgh." * (n // 12)),
    "lists of tokens that never end": (hide, lambda n: "token: [" * (n // 8)),
    "lists of tokens in lists": (hide, lambda n: "tokens: [" + "[" * n + "]" * n),
    "quotes in quotes": (hide, lambda n: """a="b='""" * (n // 6)),
    "assignments in one quote": (hide, lambda n: "a='" + "b=c;" * (n // 4) + "' token"),
    "items without values": (hide, lambda n: """x["token"] =""" * (n // 12)),
    "calls that never end": (hide, lambda n: """token(" """ * (n // 8)),
    "escaped signs": (hide, lambda n: "token%3D" * (n // 8)),
    "echoes that are not piped": (hide, lambda n: "echo a;echo b | " * (n // 16) + "chpasswd"),
    "documents that are not logins": (hide, lambda n: "<<A --password-stdin\n" * (n // 21)),
    "literals of no secret": (hide, lambda n: "secret generic " + "--from-literal" * (n // 14)),
    "names that are no values": (hide, lambda n: "password = " * (n // 11)),
    "arguments of programs": (pass_arguments, lambda n: "mysql curl -b" * (n // 13)),
    "beginnings of flow maps": (hide, lambda n: "{token: " * (n // 8)),
    "names of flow maps": (hide, lambda n: "{" + "{a" * (n // 2) + "token"),
    "pieces of base64": (find_cut, lambda n: "aB3dE6gH9 " * (n // 10)),
    "quotes of flow maps": (hide, lambda n: "{token: '" * (n // 9)),
    "commas in a value": (list_given, lambda n: "a: b" + " ," * (n // 2) + "x"),
    "a line of blanks": (list_given, lambda n: " " * n),
    "blanks in a sealed value": (judge_sealed, lambda n: "AgA" + " " * n + "!"),
    "kinds of nothing": (seek, lambda n: "data: secret\n" + "kind: " * (n // 6)),
    "comments before a kind": (seek, lambda n: "data: secret\n" + "kind: # x\n" * (n // 10)),
    "marks of comments": (seek, lambda n: "metadata: {kind: Secret}\n" + "# " * (n // 2)),
    "blanks before a kind": (seek, lambda n: "data: secret\n{kind:" + "\n" * n + "x"),
    "entries of no kind": (seek, lambda n: "data: secret\n" + "-\t" * (n // 2) + "kin"),
    "digits of no duration": (read_format, lambda n: "9" * n),
    "digits of no number": (read_double, lambda n: "9" * n + "x"),
    "values of a set": (repeat_set, lambda n: " ".join(f"x.io/a{i}" for i in range(n // 10))),
    "differing lines": (differ, lambda n: "a" * n),
    "ports of one number": (warn_of_ports, lambda n: "x" * n),
    "files of a volume": (warn_of_files, lambda n: "x" * n),
    "lines of two words": (compare_lines, lambda n: "x" * n),
    "escaped quotes": (hide, lambda n: 'password: \\"\\"' * (n // 14)),
}


@pytest.mark.core(5)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_time_in_proportion(name: str) -> None:
    act, write = HOSTILE[name]
    short = min(measure(act, write(SHORT))[1] for _ in range(3))
    long = min(measure(act, write(SHORT * TIMES))[1] for _ in range(3))

    assert long < MOST_SECONDS
    assert long < max(short, 0.002) * TIMES * 2.5
