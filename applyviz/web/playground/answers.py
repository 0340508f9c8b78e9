"""Ask for answers of the playground in a child process, and keep the rendered answers for their next pages.

The process that serves pages neither parses, calculates nor renders what visitors send.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from msgspec import Struct, field, to_builtins

from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.refs import GroupVersionKind
from applyviz.engine.objects.values import JSONObject
from applyviz.guide import limited
from applyviz.guide.given import PlaygroundQuery
from applyviz.web.reviews.pane.object_content import AloneChoice

CHILD = "applyviz.web.playground.answering_child"
KEPT_CHARACTERS = 24_000_000
KEPT_PER_ANSWER = 4_000_000


class ChildQuestion(Struct, frozen=True):
    """A question with its address; `is_masked`: its input is stored, so values of Secrets are masked already."""

    key: str
    given: PlaygroundQuery
    now: str
    base_url: str
    pool: limited.Pool
    is_masked: bool = True


class RenderedAnswer(Struct, frozen=True):
    """The kind and the field paths of an answer, and its panes as HTML by what an address chooses."""

    kept: PlaygroundQuery
    kind: GroupVersionKind
    paths: Sequence[FieldPath]
    panes: dict[str, str] = field(default_factory=dict)


class _KeptAnswers:
    """The last answers by their keys, with a limited number of characters."""

    def __init__(self) -> None:
        self._lock, self._found = Lock(), OrderedDict[str, RenderedAnswer]()

    def find(self, key: str) -> RenderedAnswer | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def add(self, key: str, answer: RenderedAnswer) -> None:
        with self._lock:
            earlier = self._found.pop(key, None)
            panes = {**(earlier.panes if earlier else {}), **answer.panes}
            while len(panes) > len(answer.panes) and _measure(panes) > KEPT_PER_ANSWER:
                del panes[next(iter(panes))]
            self._found[key] = RenderedAnswer(answer.kept, answer.kind, answer.paths, panes)
            while len(self._found) > 1 and sum(_measure(a.panes) for a in self._found.values()) > KEPT_CHARACTERS:
                self._found.popitem(last=False)


def _measure(panes: dict[str, str]) -> int:
    return sum(map(len, panes.values()))


_answers = _KeptAnswers()


def _name_choice(choice: JSONObject) -> str:
    return json.dumps(choice, sort_keys=True)


def ask(question: ChildQuestion, choice: AloneChoice) -> RenderedAnswer:
    """Compute an answer in a child, with the chosen pane.

    - Raises `PlaygroundQueryError`, also when the limits are reached.
    """
    asked = {
        "about": "object",
        "given": question.given.to_json(),
        "now": question.now,
        "is_masked": question.is_masked,
        "base_url": question.base_url,
        "choice": to_builtins(choice),
    }
    found = limited.ask(CHILD, asked, question.pool)
    answer = RenderedAnswer(
        PlaygroundQuery.from_json(found["kept"]),
        GroupVersionKind(*found["kind"]),
        tuple(tuple(path) for path in found["paths"]),
        {_name_choice(shown): html for shown, html in found["panes"]},
    )
    _answers.add(question.key, answer)
    return answer


def find_answer(question: ChildQuestion) -> RenderedAnswer:
    """Return an answer, computed at most once while it is kept. Raises `PlaygroundQueryError`."""
    return _answers.find(question.key) or ask(question, AloneChoice())


def find_pane(question: ChildQuestion, choice: AloneChoice) -> str:
    """Return a pane of an answer as HTML, computed at most once while it is kept. Raises `PlaygroundQueryError`."""
    name, answer = _name_choice(to_builtins(choice)), _answers.find(question.key)
    if answer is None or name not in answer.panes:
        answer = ask(question, choice)
    return answer.panes[name]
