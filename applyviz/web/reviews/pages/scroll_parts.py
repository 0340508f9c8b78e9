"""The data of the Changes tab: its address, one chunk of the scroll, blocks of identical changes, the whole page."""

from __future__ import annotations

from urllib.parse import urlencode

from msgspec import Struct, field
from msgspec.structs import asdict

from applyviz.web.reviews.pages.comments import CollectedBar, CommentThread
from applyviz.web.reviews.pages.object_list import ListChoice, ObjectList
from applyviz.web.reviews.pages.risks import LinkedObject
from applyviz.web.reviews.pages.search.row_words import asks_for_kept, name_codes
from applyviz.web.reviews.pane.flat_rows import RowFilter
from applyviz.web.reviews.pane.object_content import AloneChoice, ObjectView
from applyviz.web.reviews.pane.scroll_object import RiskTag, ScrollObject, ViewLink


def show_first(text: str) -> RowFilter:
    """Return the fields that Changes shows by default; a search for kept fields shows these, too."""
    is_kept = asks_for_kept(text.casefold().split(), name_codes())
    return RowFilter.KEPT if is_kept else RowFilter.CHANGED


class ScrollChoice(Struct, frozen=True):
    """The choices in the address.

    - `start`: the first entry, counted from 0; `at`: the object whose chunk is wanted instead.
    - `expand`: the group of identical changes that is shown object by object.
    - `only`: one object; a page shows it alone, as `of_object` chooses, and so does a part that `is_alone`.
    """

    listed: ListChoice = field(default_factory=ListChoice)
    show: RowFilter = RowFilter.CHANGED
    view: ObjectView = ObjectView.FIELDS
    start: int = 0
    at: int | None = None
    expand: str = ""
    only: int | None = None
    is_alone: bool = False
    of_object: AloneChoice = field(default_factory=AloneChoice)

    @property
    def other_show(self) -> str:
        """The shown fields if they are not the default for the search text; else ""."""
        return self.show.value if self.show is not show_first(self.listed.q) else ""

    def write(self, **values: object) -> str:
        """The query of the same choice with other values, with its question mark; "" when it asks for nothing."""
        asked = {
            "show": self.other_show,
            "view": self.view.value if self.view is not ObjectView.FIELDS else "",
            "expand": self.expand,
        }
        asked |= {name: str(value) for name, value in values.items()}
        query = "&".join(filter(None, (self.listed.query, urlencode({k: v for k, v in asked.items() if v}))))
        return f"?{query}" if query else ""


class AlikeBlock(Struct, frozen=True):
    """Objects that change identically: the fields of one, and the names of all.

    - `what` is that change in words; `sample` is the object whose fields are shown.
    - `similar` change more, or to other values.
    """

    key: str
    title: str
    what: str
    risks: tuple[RiskTag, ...]
    sample: ScrollObject
    members: tuple[LinkedObject, ...]
    hidden_members: int
    similar: tuple[LinkedObject, ...]
    expand_url: str
    expand_text: str
    is_viewed: bool
    is_alike: bool = True

    @property
    def anchor(self) -> str:
        """Its name in the page: that of the object whose fields it shows."""
        return self.sample.anchor


class Chunk(Struct, frozen=True):
    """Some entries of the scroll; `first` and `last` count from 1, and addresses are empty where there is nothing."""

    entries: tuple[ScrollObject | AlikeBlock, ...]
    first: int
    last: int
    total: int
    next_url: str
    next_page: str
    before_page: str
    next_count: int
    is_narrowed: bool = False
    planned_later: int = 0
    is_complete: bool = False
    is_deleting: bool = False


class ScrollPage(Struct, frozen=True):
    """Everything that the tab prints below the frame; one object alone, with its comments, stands for the chunk."""

    listing: ObjectList
    chunk: Chunk | None
    row_filters: tuple[ViewLink, ...]
    object_views: tuple[ViewLink, ...]
    changes_url: str
    chunk_url: str
    list_url: str
    viewed_url: str
    choice: ScrollChoice
    collected: CollectedBar
    alone: ScrollObject | None = None
    thread: CommentThread | None = None

    def parts(self) -> dict[str, object]:
        """The parts by their names."""
        return asdict(self)
