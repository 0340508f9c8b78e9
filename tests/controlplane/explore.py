"""Makes a corpus of new random cases, answered by the Go libraries, in the format of the recorded ones.

    python -m tests.controlplane.explore CORPUS OUT --cases 2000 --seed 7 [--family ssa]
    python manage.py conformance OUT --show 3

Cases on which a library breaks down, or answers differently when asked again, are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.controlplane.binaries import KUBERNETES_VERSION, cache_folder, find_binaries
from tests.controlplane.controlplane import ControlPlane
from tests.controlplane.judge import Judge, find_oracle, save_documents
from tests.controlplane.mutations import VERSIONS, mutate
from tests.controlplane.patching import make_odd

# The libraries walk some Go maps: what hangs on their order shows when asked often enough. An upgrade of several
# managers differs in every second answer only, so it is asked more often.
_TIMES_ASKED = {"csaupgrade": 14}


def find_documents() -> Path:
    """The OpenAPI documents of the version we speak of, kept in the cache; a server is started once for them."""
    folder = cache_folder() / f"openapi-{KUBERNETES_VERSION}"
    if not folder.exists():
        partial = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        with ControlPlane(find_binaries()) as plane:
            save_documents(plane, partial)
        partial.rename(folder)
    return folder


def read_cases(corpus: Path, family: str) -> list[dict[str, Any]]:
    """The recorded cases of one family."""
    with gzip.open(corpus / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_definitions(corpus: Path) -> dict[str, Any]:
    """The CustomResourceDefinitions that cases name."""
    with gzip.open(corpus / "crds.json.gz", "rt", encoding="utf-8") as text:
        found: dict[str, Any] = json.load(text)
    return found


def make_cases(
    recorded: Sequence[dict[str, Any]], definitions: dict[str, Any], judge: Judge, *, count: int, seed: int
) -> Iterator[dict[str, Any]]:
    """New cases with their answers, the same ones for the same seed."""
    rng = random.Random(seed)
    made = 0
    while made < count:
        case = mutate(rng.choice(recorded), rng, donors=recorded)
        if case["op"] in ("smp3", "jmp3"):
            case = make_odd(case, rng, judge)
        asked = {**case, "input": dict(case["input"])}
        if case["input"].get("crd"):
            asked["input"]["crd"] = definitions[case["input"]["crd"]]
        answers = [judge.ask(asked) for _ in range(_TIMES_ASKED.get(case["op"], 3))]
        if answers[0] is not None and all(answer == answers[0] for answer in answers):
            made += 1
            yield {**case, "expected": answers[0]}


def write_corpus(corpus: Path, out: Path, families: Sequence[str], *, count: int, seed: int) -> None:
    """Write one file of new cases per family, and the definitions beside them."""
    out.mkdir(parents=True, exist_ok=True)
    definitions = read_definitions(corpus)
    shutil.copyfile(corpus / "crds.json.gz", out / "crds.json.gz")
    with Judge(find_oracle(), find_documents()) as judge:
        for family in families:
            with gzip.open(out / f"{family}.jsonl.gz", "wt", encoding="utf-8", compresslevel=3) as lines:
                for case in make_cases(read_cases(corpus, family), definitions, judge, count=count, seed=seed):
                    lines.write(json.dumps(case) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder with the recorded files and crds.json.gz")
    parser.add_argument("out", type=Path, help="folder for the new files")
    parser.add_argument("--cases", type=int, default=2000, help="how many per family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", action="append", choices=sorted(VERSIONS), help="only this family (repeatable)")
    options = parser.parse_args()
    write_corpus(
        options.corpus, options.out, options.family or sorted(VERSIONS), count=options.cases, seed=options.seed
    )


if __name__ == "__main__":
    main()
