"""Scenes of the stored pictures: parts of pages of the demo that are the same at every start.

Moments, durations and digests differ from start to start; `STILL` writes others over them. How many fields the status
of a workload has depends on how far its pods are, so no picture shows owners of status.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark"]
BOTH: tuple[Theme, ...] = ("light", "dark")
PLAN = "/reviews/2/plans/1"

STILL = """() => {
  for (const time of document.querySelectorAll("time")) {
    time.removeAttribute("data-relative"); // so that no script says it again
    time.textContent = "24 Nov 09:30 UTC";
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    const timed = text.data.replace(/\\b\\d+(\\.\\d+)? m?s\\b/g, "9 ms");
    const still = timed.replace(/\\b[0-9a-f]{12,64}\\b/g, "0123456789ab");
    if (still !== text.data) text.data = still;
  }
}"""


@dataclass(frozen=True)
class Scene:
    """One part of one page, at a width; `height` cuts a long part, and `across` a wide one."""

    name: str
    address: str
    part: str
    width: int = 1440
    themes: tuple[Theme, ...] = ("light",)
    height: int = 0
    across: int = 0
    waits_for: str = ""

    def name_in(self, theme: Theme) -> str:
        """The name of its picture in a theme."""
        return f"{self.name}-{self.width}-{theme}"


SCENES = (
    Scene("header", f"{PLAN}/changes/", ".review-header"),
    Scene("header", f"{PLAN}/overview/", ".review-header .track", width=390),
    Scene("strip", f"{PLAN}/changes/", "#strip", themes=BOTH),
    Scene("strip", f"{PLAN}/overview/", "#strip", width=390),
    Scene("tabs", f"{PLAN}/changes/", ".review-tabs"),
    Scene("tools", f"{PLAN}/changes/", ".tools", width=390),
    Scene("list", f"{PLAN}/changes/", ".master", height=330),
    Scene("object-head", f"{PLAN}/changes/", ".object-head >> nth=0", themes=("dark",)),
    Scene("field-row", f"{PLAN}/changes/", ".change summary >> nth=0"),
    Scene("conflict", f"{PLAN}/changes/", ".is-conflict", height=170, waits_for=".is-conflict .known"),
    Scene("resolutions", f"{PLAN}/changes/", ".resolution-option >> nth=0", themes=("dark",)),
    Scene("diff", f"{PLAN}/changes/", ".change-lines >> nth=0", themes=BOTH),
    Scene("risks", f"{PLAN}/overview/", ".card.risks"),
    Scene("pods", f"{PLAN}/overview/", ".card.pods", themes=("dark",)),
    Scene("kinds", f"{PLAN}/overview/", ".card.kinds"),
    Scene("risk", f"{PLAN}/risks/", ".risk-group .risk >> nth=0"),
    Scene("graph", f"{PLAN}/graph/", "svg.graph", height=280),
    Scene("graph-reach", f"{PLAN}/graph/?node=deployment/checkout", ".graph-panel", themes=("dark",), height=320),
    Scene("owners", f"{PLAN}/owners/", ".owner-map", height=190, across=560),
    Scene("first-steps", "/", ".first-steps"),
    Scene("attention", "/", ".attention"),
    Scene("attention", "/", ".attention", width=390),
    Scene("run-strip", "/runs/1/", "#run-strip"),
    Scene("run-table", "/runs/1/", "#objects", height=110),
)
