"""What page and API show of one planned object, as data.

The rooms below the pages may not read them, so whoever runs the families `rows` and `reasons` hands in a `Presenter`:
it asks the read models that the page and the API render, as they do for a person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from msgspec import Struct

from applyviz.engine.objects.paths import FieldPath
from applyviz.engine.objects.values import JSONValue
from applyviz.engine.planning.model.plan import PlannedObject
from applyviz.engine.requests.options import ApplyOptions


class ShownRow(Struct, frozen=True):
    """One row: its field, the operation, the rule and the sentence; values as text, None where there is none.

    - `is_masked`: the texts are marks in place of a secret.
    """

    path: FieldPath
    operation: str
    rule: str
    why: str
    live: str | None
    after: str | None
    is_masked: bool = False


class ShownDocument(Struct, frozen=True):
    """One of the four versions as its lines, and how many of them are marked as different."""

    text: str
    marked: int
    is_whole: bool = True


class ShownObject(Struct, frozen=True):
    """One object on the page and in the API.

    - `changes` and `defaults`: the rows below *Changes* and *Server defaults*; `scroll`: the paths in the scroll of all
      changes, None where it shows a document instead; `answered`: path and values of each field of the API.
    - `counts`: the number at each filter; `tab`: the number at the tab, None without one; `empty_text`: the sentence
      where there is no row.
    - `documents`: the four versions by name; `print_value`: how the page writes a value.
    """

    operation: str
    changes: tuple[ShownRow, ...]
    defaults: tuple[ShownRow, ...]
    scroll: tuple[FieldPath, ...] | None
    answered: tuple[tuple[str, str | None, str | None], ...]
    counts: Mapping[str, int]
    tab: int | None
    empty_text: str
    documents: Mapping[str, ShownDocument]
    print_value: Callable[[JSONValue], str]


Presenter: TypeAlias = Callable[[PlannedObject, ApplyOptions], ShownObject]
"""Returns what page and API show of a planned object."""
