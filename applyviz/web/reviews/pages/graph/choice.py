"""The reader's choices for a graph, and the addresses that change them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from msgspec import Struct

from applyviz.engine.objects.structs import replace

_LONGEST = 253


class GraphChoice(Struct, frozen=True):
    """The query of the tab.

    - `node`: whose reach is drawn, as `NodeNames` names it; `opened`: the group of a large plan that is opened.
    - `find`: a part of the name of the node that is wanted; links do not keep it.
    - `is_table`: the references as rows; `is_folded`: unchanged objects together; `has_neighbors`: live ones too.
    """

    node: str = ""
    opened: str = ""
    is_table: bool = False
    is_folded: bool = True
    has_neighbors: bool = True
    find: str = ""
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, str], page: int = 1) -> GraphChoice:
        """Read the query; whatever it does not know is as by default."""
        return cls(
            node=query.get("node", ""),
            opened=query.get("open", ""),
            is_table=query.get("view") == "table",
            is_folded=query.get("fold") != "0",
            has_neighbors=query.get("live") != "0",
            find=query.get("find", "").strip()[:_LONGEST],
            page=page,
        )

    def link(self, **changed: object) -> str:
        """The query with something changed; what is as by default is left out."""
        wanted = replace(self, page=1, **changed)  # type: ignore[arg-type]  # the fields of this very class
        query = {
            "view": "table" if wanted.is_table else "",
            "fold": "" if wanted.is_folded else "0",
            "live": "" if wanted.has_neighbors else "0",
            "open": wanted.opened,
            "node": wanted.node,
        }
        return "?" + urlencode({name: value for name, value in query.items() if value}, safe="/")
