"""Replace characters that libyaml and Go's library read differently, and restore them after parsing.

Rule: Go ends a plain scalar at a colon only when a space follows, so `[a:, b]` holds `a:`; libyaml refuses that. Go
skips a byte order mark only at the start of a document; libyaml skips it at every line. Go accepts `,`, `[` and `]` in
a tag; libyaml ends the tag there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from applyviz.engine.manifests.documents import PlainPath
from applyviz.engine.manifests.limits import ReadLimits
from applyviz.engine.manifests.scalars import Scalar
from applyviz.engine.manifests.tree_parts import FlowColonError, TagIndicatorError, Tree
from applyviz.engine.manifests.yaml_tree import TreeReader
from applyviz.engine.objects.structs import replace
from applyviz.engine.objects.values import JSONValue

_FREE = ("\ue0fa", "\ue0fb", "\ue0fc", "\ue0fd")
_MARK_AT_LINE = "\n\ufeff"
_MOST_COVERED = 100
_TAG: Final = re.compile(r"![-\w;/?:@&=+$.!~*'()%,\[\]]*", re.ASCII)
# Allowed in a tag: no meaningful tag contains one, so one odd tag can stand for another.
_SPELLING: Final = str.maketrans(",[]", ";;;")


@dataclass(slots=True)
class _Covers:
    text: str
    originals: dict[int, str] = field(default_factory=dict)

    def cover_of(self, original: str) -> str:
        """Return the private character that stands for a character; "" if none is free."""
        for cover in _FREE:
            if self.originals.get(ord(cover)) == original:
                return cover
            if ord(cover) not in self.originals and cover not in self.text:
                self.originals[ord(cover)] = original
                return cover
        return ""

    def cover_colon(self, at: int) -> bool:
        """Cover the colon at an offset; return False if there is none, or no free character to cover it with."""
        cover, before = self.cover_of(":"), self.text
        if not cover or before[at : at + 1] != ":":
            return False
        self.text = before[:at] + cover + before[at + 1 :]
        return True

    def spell_tag(self, at: int) -> bool:
        """Rewrite the tag at an offset in characters that libyaml accepts; return False if nothing needs rewriting."""
        found = _TAG.match(self.text, at)
        tag = found[0] if found else ""
        spelled = tag.translate(_SPELLING)
        self.text = self.text[:at] + spelled + self.text[at + len(tag) :]
        return spelled != tag

    def uncover(self, value: JSONValue) -> Any:
        if isinstance(value, str):
            return value.translate(self.originals)
        if isinstance(value, dict):
            return {k.translate(self.originals): self.uncover(v) for k, v in value.items()}
        return [self.uncover(v) for v in value] if isinstance(value, list) else value

    def uncover_positions(self, positions: JSONValue) -> Any:
        if isinstance(positions, dict):
            return {k.translate(self.originals): self.uncover_positions(v) for k, v in positions.items()}
        return [self.uncover_positions(v) for v in positions] if isinstance(positions, list) else positions

    def uncover_path(self, path: PlainPath) -> PlainPath:
        return tuple(step.translate(self.originals) if isinstance(step, str) else step for step in path)

    def uncover_tree(self, tree: Tree) -> Tree:
        return Tree(
            self.uncover(tree.value),
            self.uncover_positions(tree.positions),
            tuple(replace(note, path=self.uncover_path(note.path)) for note in tree.retyped),
            tuple(replace(note, path=self.uncover_path(note.path)) for note in tree.duplicates),
        )


def read_tree(text: bytes, file: str, first_line: int, limits: ReadLimits, cache: dict[str, Scalar]) -> Tree:
    """Read the first document of a text; raises `ManifestError` with the position of the problem."""
    covers: _Covers | None = None
    if _MARK_AT_LINE.encode() in text:
        covers = _Covers(text.decode("utf-8", "replace"))
        covers.text = covers.text.replace(_MARK_AT_LINE, "\n" + covers.cover_of("\ufeff"))
        text = covers.text.encode()
    for _ in range(_MOST_COVERED):
        try:
            tree = TreeReader(file, first_line, limits, cache).read(text)
        except (FlowColonError, TagIndicatorError) as error:
            covers = covers or _Covers(text.decode("utf-8", "replace"))
            cover = covers.cover_colon if isinstance(error, FlowColonError) else covers.spell_tag
            if not cover(error.offset):
                raise
            text = covers.text.encode()
            continue
        return covers.uncover_tree(tree) if covers is not None else tree
    return TreeReader(file, first_line, limits, cache).read(text)
