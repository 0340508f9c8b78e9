"""The whole document with its edits, as it is offered beside a patch: with comments, alone, and never with a secret."""

from __future__ import annotations

from applyviz.engine.manifests.parse import parse_manifests
from applyviz.engine.objects.structs import replace
from applyviz.engine.planning.conflicts.file_edits import EditedText, FileEdit, make_patch
from applyviz.engine.planning.conflicts.resolutions import ResolutionKind
from applyviz.engine.planning.objects.masking import mask_change
from applyviz.engine.requests.options import ApplyOptions
from tests.engine.planning.cluster import Box
from tests.engine.planning.test_fileedits import BLOCK, REPLICAS, THEIRS, plan, preview_decisions

SHARED = [FileEdit(REPLICAS, 3, 5)]


def keep_text(source, number=0, edits=SHARED):
    document = parse_manifests(source.encode(), "app.yaml").documents[number]
    patch = make_patch(edits, document=document, sources={"app.yaml": EditedText(source)}, keeps_text=True)
    assert patch is not None
    return patch.edited, patch.is_whole


def test_edited_file_is_kept_with_its_comments():
    edited, is_whole = keep_text(BLOCK)

    assert is_whole
    assert edited == BLOCK.replace("replicas: 3 # as ever", "replicas: 5 # as ever")


def test_edited_document_of_several_is_kept_alone():
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {token: canary}\n"

    edited, is_whole = keep_text(f"{other}---\n{BLOCK}---\n{other}", number=1)

    assert (is_whole, "canary" in edited) == (False, False)
    assert edited == BLOCK.replace("replicas: 3 # as ever", "replicas: 5 # as ever")


def test_separators_alone_are_no_other_document():
    assert keep_text(f"---\n{BLOCK}---\n")[1]


def test_document_of_a_list_and_a_long_one_are_not_kept():
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + "\n  ".join(BLOCK.rstrip().split("\n")[1:]) + "\n"
    long = BLOCK + "# " + "x" * 70_000 + "\n"

    assert keep_text(listed) == ("", False)
    assert keep_text(long) == ("", False)


def test_password_elsewhere_in_the_document_hides_the_document_and_not_the_lines():
    box = Box()
    box.apply(THEIRS.replace(" theirs", " ours"), ApplyOptions(field_manager="other"))
    source = BLOCK.replace("- value: ours\n              name: A", "- value: canary\n              name: DB_PASSWORD")
    first = plan(box, source)
    decisions = {first.ref.key: tuple(preview_decisions(first, ResolutionKind.SHARE))}

    change = plan(box, source, decisions=decisions)
    masked = mask_change(change, tag_key=b"k")

    (answer,), (shown,) = change.answers, masked.answers
    assert ("canary" in answer.patch.edited, answer.patch.is_whole) == (True, True)
    assert shown.patch == replace(answer.patch, edited="", is_whole=False)
    assert "canary" not in repr(masked.answers)
