"""Parts that are compared after the values that hold them."""

from hypothesis import given
from hypothesis import strategies as st

from applyviz.engine.diff import equal_parts
from applyviz.engine.diff.equal_parts import EqualParts
from applyviz.engine.diff.text import diff_lines
from applyviz.engine.objects.values import clone, is_same_json

DEEP = 100
SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, 1.0, "a", ""])
TREES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("abc"), v, max_size=3), max_leaves=12
)


def nest(value, depth):
    for _ in range(depth):
        value = {"z": value}
    return value


@given(TREES, TREES)
def test_deep_parts_are_compared_as_any_value(left, right):
    for one, other in ((left, right), (left, clone(left)), ({"a": left, "b": right}, {"a": clone(left), "b": left})):
        assert EqualParts().is_same(one, other, DEEP) == is_same_json(one, other)


@given(st.sampled_from([(1, True), (1, 1.0), (0, False), ([], {}), ({"a": 1}, {"b": 1}), ([1], [1, 2]), (None, {})]))
def test_parts_of_other_types_are_compared_as_any_value(pair):
    for one, other in (pair, ({"a": pair[0]}, {"a": pair[1]}), ([pair[0]], [pair[1]])):
        assert EqualParts().is_same(one, other, DEEP) == is_same_json(one, other)


def test_scalars_of_a_deep_value_are_compared_a_few_times_however_deep_they_are(monkeypatch):
    compared = []
    monkeypatch.setattr(equal_parts, "is_same_json", lambda *pair: compared.append(pair) or is_same_json(*pair))
    counts = []
    for depth in (50, 100):
        compared.clear()
        before, after = ({**{f"k{n}": {"x": n} for n in range(20)}, "z": end} for end in (1, 2))
        rows = diff_lines(nest(before, depth), nest(after, depth), is_short=True)
        assert sum(row.state == "changed" for row in rows) == 1
        counts.append(sum(not isinstance(one, dict) for one, _ in compared))

    assert counts[0] == counts[1] <= 100


def test_value_as_deep_as_a_manifest_may_be_is_compared():
    rows = diff_lines(nest({"a": 1}, 199), nest({"a": 2}, 199), is_short=True)

    assert rows[-1].state == "changed"
