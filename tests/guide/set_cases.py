"""The cases of prunes and deletions in the playground, which the real control plane is asked too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from applyviz.engine.requests.options import Propagation
from applyviz.guide.given_sets import SetQuery, SetTask
from tests.yaml_files import read_yaml

FILE = Path(__file__).parents[1] / "cases" / "playground" / "sets.yaml"
TEXTS = ("manifest", "before", "cluster")


@dataclass(frozen=True)
class SetCase:
    """One case: what is given, with placeholders, and what becomes of each object."""

    name: str
    given: Mapping[str, Any]
    expect: Mapping[str, Any]

    def ask(self, space: str) -> SetQuery:
        """Return the question in one namespace."""
        texts = {part: place(self.given.get(part, ""), space) for part in TEXTS}
        return SetQuery(
            **texts,
            task=SetTask(self.given["task"]),
            namespace=space if self.given["task"] == "applyset" else "default",
            selector=self.given.get("selector", ""),
            allowlist=tuple(self.given.get("allowlist", ())),
            applyset=self.given.get("applyset", ""),
            propagation=Propagation(self.given.get("propagation", "Background")),
        )

    def find_outcomes(self, space: str) -> dict[str, str]:
        """Return what becomes of each object, as one word."""
        return {place(name, space): first(outcome) for name, outcome in self.expect.items()}


def first(outcome: str | list[str]) -> str:
    """Return the word of an outcome."""
    return outcome if isinstance(outcome, str) else outcome[0]


def place(text: str, space: str) -> str:
    """Return a text with the namespaces of one side."""
    return text.replace("SPACE", space).replace("OTHER}", f"{space}-2}}").replace("OTHER,", f"{space}-2,").replace(
        "/OTHER", f"/{space}-2"
    )  # fmt: skip


CASES = [SetCase(one["name"], one, one["expect"]) for one in read_yaml(FILE)]
