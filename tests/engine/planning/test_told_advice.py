"""Is every sentence that tells people what to do, in the guide, risks, errors and explanations, carried out?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from applyviz.engine.risks.advice import Advice
from tests.engine.planning.cluster import Box
from tests.engine.planning.told_advice import TOLD

ROOT = Path(__file__).parents[3]
_VERBS = (
    "Write|Use|Remove|Leave|Keep|Quote|Delete|Apply|Add|Set|Rename|Drop|Put|Give|Take|Move|Run|Choose|Send|Hand|Create"
    "|Change|Migrate|Replace|Force|Plan|Upload|Declare|Split|Pass|Try|Avoid|Export|Edit|Correct|Renew|Check|Manage"
    "|Approve|Follow|Select|Open|Prefer|Wait"
)
_START = (
    r"(?:(?:(?:To|If|In|For|Before|After) [^,.]+|First|Then|Instead|Otherwise|So), )?"
    r"(?:first |then |[Dd]o not |[Aa]lways |[Nn]ever |just )?"
)
_ADVICE = re.compile(rf"^{_START}(?:{_VERBS}|{_VERBS.lower()})(?! does| failed)(?= )")
NO_ADVICE = {
    # Where a value comes from.
    "set by another entry of your manifest with the same `{path}`",
    # What apply does where Helm does something else (docs/semantics/rendering.md).
    "Apply creates it together with everything else and keeps it; a Job that has run does not run again. applyviz "
    "lists the hooks of a chart and leaves them out; you can include each of them, which is a high risk. - **CRDs.** "
    "Helm installs the files in `crds/` once and never updates them. `helm template` leaves them out without "
    "`--include-crds`; applyviz renders them.",
    "Apply updates them like any other object. - **Releases.** Helm records a release in a Secret and deletes what a "
    "later version of the chart no longer contains.",
    "Apply records nothing; prune by an ApplySet or an allowlist deletes what left the set.",
    "Helm runs this object as a hook ({hooks}), and may delete it afterwards. Apply creates it like any other object, "
    "and keeps it.",
    # Explanations of a value.
    "Removed: set to null in the manifest",
    "set in your manifest",
    "set by the patch",
    # The edit of a resolution.
    "Set {name} to the live value.",
    "Set {name} to {value}.",
    # The words of a server.
    "replace operation value must be object or array",
    # Where a patch of the file cannot be made; the edit itself is that of a resolution, carried out there.
    "{source.rendered_by} rendered this text: change what it was rendered from",
    "{len(edits)} edits are too many for one patch: take the request body as the new text of the object.",
}


def _is_advice(text: str) -> bool:
    clauses = re.split(r"(?<=[.;:]) ", text.replace("**", ""))
    return any(_ADVICE.match(re.sub(r"^[*-] ", "", clause)) for clause in clauses)


def _join(node: ast.AST) -> str:
    """The text of a constant or an f-string, with its expressions in braces."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_join(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _strings(tree: ast.AST, parent: ast.AST | None = None) -> Iterator[str]:
    """The texts of a module without its docstrings."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(child, (ast.JoinedStr, ast.Constant)):
            yield _join(child)
        else:
            yield from _strings(child, tree)


def list_told() -> Iterator[str]:
    """Every sentence of the engine and of the guide that tells people to do something."""
    for path in sorted(Path(ROOT, "applyviz/engine").rglob("*.py")):
        if path.name == "server_sentences.py":  # they tell what to do about a cluster, which no sandbox can show
            continue
        for text in _strings(ast.parse(path.read_text())):
            # A sentence of ours has words; messages of kubectl and of the server begin as they do there.
            if text.count(" ") > 2 and _is_advice(text):
                yield text
    for path in sorted(Path(ROOT, "docs/semantics").glob("*.md")):
        prose = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        for paragraph in re.split(r"\n\s*\n", prose):
            if not paragraph.lstrip().startswith(("#", "|")):
                yield from filter(_is_advice, re.split(r"(?<=[.]) (?=[A-Z*])", " ".join(paragraph.split())))


def test_every_sentence_that_advises_is_carried_out():
    told = set(list_told())

    assert sorted(told - set(TOLD) - {advice.value for advice in Advice} - NO_ADVICE) == []
    assert sorted((set(TOLD) | NO_ADVICE) - told) == [], "these sentences are gone"


def test_advice_that_nobody_carries_out_is_found():
    assert _is_advice("Nobody owns it. Remove the annotation.")
    assert _is_advice("To end this, delete the object")
    assert _is_advice("**In a controller**, always force each apply.")
    assert _is_advice("Do not send an object that you read")
    assert not _is_advice("Apply does not delete an object.")


@pytest.mark.parametrize("case", dict.fromkeys(TOLD.values()), ids=lambda case: case.__name__)
def test_told_advice_does_what_it_says(case):
    case(Box())
