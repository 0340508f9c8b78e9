"""Two policies together mask what either of them masks."""

from __future__ import annotations

from applyviz.engine.diff.marks import is_masked
from applyviz.engine.diff.mask_policy import MaskPolicy
from applyviz.engine.diff.masking import mask
from applyviz.engine.diff.passwords import KindPasswords, Passwords
from applyviz.engine.objects.refs import GroupVersionKind

GVK = GroupVersionKind("example.com", "v1", "Database")
SPEC = {"password": "words", "userPin": "1234", "code": "abcd", "hidden": "here", "size": 3}
NAMES = MaskPolicy(has_plain=False, names=("*pin",))
PATHS = MaskPolicy(has_plain=False, paths=("spec.code",))
SCHEMA = MaskPolicy(
    has_plain=False, passwords=Passwords((KindPasswords("example.com", "Database", (("spec", "hidden"),)),))
)


def list_masked(policy: MaskPolicy) -> set[str]:
    spec = mask({"kind": "Database", "spec": SPEC}, gvk=GVK, tag_key=b"k", policy=policy)["spec"]
    return {name for name, value in spec.items() if is_masked(value)}


def test_joined_policy_masks_what_either_masks():
    joined = NAMES.join(PATHS).join(SCHEMA)

    assert [list_masked(one) for one in (NAMES, PATHS, SCHEMA)] == [{"userPin"}, {"code"}, {"hidden"}]
    assert list_masked(joined) == {"userPin", "code", "hidden"}
    assert list_masked(joined.join(MaskPolicy())) == {*SPEC} - {"size"}


def test_policy_that_is_joined_to_itself_stays():
    assert NAMES.join(NAMES) == NAMES
