"""CEL: what expressions come to, and what they cost; values and errors are those of cel-go as Kubernetes sets it up."""

import pytest

from applyviz.sandbox.cel import library  # noqa: F401 - defines the functions of Kubernetes
from applyviz.sandbox.cel.cost_estimates import estimate_cost
from applyviz.sandbox.cel.nodes import names_in
from applyviz.sandbox.cel.programs import CostError, Meter, evaluate
from applyviz.sandbox.cel.static_types import DYN
from applyviz.sandbox.cel.syntax import NotReadableError, parse
from applyviz.sandbox.cel.type_checker import check_expression, find_kinds
from applyviz.sandbox.cel.values import CelError, Optional, UInt
from tests.pace import measure

SELF = {"self": {"a": {"b": 3}, "l": [1, 2, 3], "m": {"x": 1, "y": 2}, "s": "Hello", "n": None}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 8 / 3 % 2", 7),
        ("-7 / 2 == -3 && -7 % 2 == -1", True),
        ("0x1F + 1", 32),
        ("1u + 2u", UInt(3)),
        ("1 < 2.5 && 2u > 1 && 1 == 1.0", True),
        ("dyn('1') == 1", False),
        ("- 1 - -1", 0),
        ("!!true", True),
        ("1/0 == 1 || true", True),
        ("false && 1/0 == 1", False),
        ("1/0 == 1 && false", False),
        ("true ? 1 : 1/0", 1),
        ("'a' + \"b\" + '''c'd''' + r'\\d' + '\\n\\x41\\u00e4\\U0001F600\\101'", "abc'd\\d\nAä😀A"),
        ("b'\\xff' + b'ä' == b'\\377\\303\\244'", True),
        ("size('ä😀') + size(b'ä') + [1, 2].size() + {'a': 1}.size()", 7),
        ("'b' > 'a' && !('a' < 'A')", True),
        ("self.a.b in [1, 3] && 'x' in self.m && !('z' in self.m)", True),
        ("has(self.a.b) && !has(self.a.c)", True),
        ("self.l[0] + self.m['y']", 3),
        ("self.n == null", True),
        ("self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x > 2)", True),
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("[0, 1].all(x, 1 / x == 2)", False),
        ("self.l.map(x, x * 2) + self.l.map(x, x > 1, x) + self.l.filter(x, x < 3)", [2, 4, 6, 2, 3, 1, 2]),
        ("self.m.map(k, k)", ["x", "y"]),
        ("self.m.all(k, v, v > 0) && self.l.exists(i, v, i == v - 1)", True),
        ("self.m.transformMap(k, v, v > 1, v * 2)", {"y": 4}),
        ("self.l.transformList(i, v, i * v)", [0, 2, 6]),
        ("self.m.transformMapEntry(k, v, {v: k})", {1: "x", 2: "y"}),
        ("type(1) == int && type([]) == list && type(type(1)) == type", True),
        ("string(1.5) + string(true) + string(duration('90s')) + string(10)", "1.5true90s10"),
        ("int('42') + int(2.9) + int(3u)", 47),
        ("double('1.5') + double(1)", 2.5),
        ("bool('true') && !bool('False')", True),
        ("timestamp('2024-02-29T01:02:03.5Z') + duration('24h') == timestamp('2024-03-01T01:02:03.500Z')", True),
        ("timestamp('2024-01-01T00:00:00+02:00').getHours()", 22),
        ("timestamp('2024-01-07T00:00:00Z').getDayOfWeek()", 0),
        ("timestamp('2024-01-01T00:00:00Z').getHours('+01:30')", 1),
        ("duration('1h30m').getMinutes()", 90),
        ("self.?a.?c.orValue(7) + self.a.?b.orValue(0)", 10),
        ("self[?'a'].b.value()", 3),
        ("[?self.?zz, ?optional.of(1), 2]", [1, 2]),
        ("{?'k': self.?zz, 'l': 1}", {"l": 1}),
        ("optional.of(2).optMap(x, x + 1)", Optional(3, True)),
        ("optional.none().or(optional.of(1)).hasValue()", True),
        ("optional.ofNonZeroValue('').hasValue()", False),
        ("'Hello'.lowerAscii() + 'x'.upperAscii() + ' t '.trim()", "helloXt"),
        ("'a-b-c'.split('-', 2) + ['x'] == ['a', 'b-c', 'x']", True),
        ("'abcabc'.replace('b', 'X', 1).indexOf('b') + 'abc'.lastIndexOf('c')", 6),
        ("'hello'.substring(1, 3) + 'abc'.charAt(1) + 'abc'.reverse()", "elbcba"),
        ("['a', 'b'].join('-') + strings.quote('x\\n')", 'a-b"x\\n"'),
        ("'%s is %d, %.2f, %x, %b, %%'.format(['it', 255, 1.0 / 3.0, 255, 5])", "it is 255, 0.33, ff, 101, %"),
        ("'abc 123 45'.findAll('[0-9]+') + ['abc'.find('b.')]", ["123", "45", "bc"]),
        ("'abc'.matches('^a.c$') && !'ABC'.matches('abc') && 'ABC'.matches('(?i)abc')", True),
        ("[3, 1, 2].sort() == [1, 2, 3] && [1, 2].isSorted() && [1, 2, 3].sum() == 6 && [1, 3, 2].max() == 3", True),
        ("[1, 2, 1].distinct().size() + [1, 2, 1].lastIndexOf(1) + [[1], [2]].flatten().size()", 6),
        ("sets.contains([1, 2], [2]) && !sets.intersects([1], [2]) && sets.equivalent([1, 1], [1])", True),
        ("quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('1500m').add(1) == quantity('2.5')", True),
        ("quantity('3k').asInteger() + quantity('-2').sign()", 2999),
        ("isQuantity('1.5Mi') && !isQuantity('1.5X')", True),
        ("url('https://a.b:8443/p?q=1').getHost() + url('https://a.b:8443/p').getPort()", "a.b:84438443"),
        ("isURL('/a') && !isURL('a')", True),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/16').containsCIDR('10.0.0.0/8')", True),
        ("ip('::1').isLoopback() && ip('10.0.0.1').family() == 4 && !isIP('10.0.0.256')", True),
        ("semver('1.2.3').isLessThan(semver('1.10.0-rc.1')) && isSemver('v1.2', true) && !isSemver('1.2')", True),
        ("format.dns1123Label().validate('a-b').hasValue()", False),
        ("format.named('uuid').value().validate('nope').value()", ["does not match the UUID format"]),
    ],
)
def test_expressions_come_to_their_values(text, value):
    found = evaluate(text, SELF)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("self.a.c", "no such key: c"),
        ("self.m['z']", "no such key: z"),
        ("self.l[3]", "index out of bounds: 3"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("'a' + 1", "no such overload"),
        ("!1", "no such overload"),
        ("1 ? 2 : 3", "no such overload"),
        ("self.l.all(x, x)", "no such overload"),
        ("nobody", "undeclared reference to 'nobody' (in container '')"),
        ("nobody(1)", "undeclared reference to 'nobody' (in container '')"),
        ("optional.none().value()", "optional.none() dereference"),
        ("{'a': 1, 'a': 2}", "Failed with repeated key 'a'"),
        ("[].min()", "min called on empty list"),
        ("quantity('iG01')", "unable to parse quantity's suffix"),
        ("'a'.matches('[')", "error parsing regexp: missing closing ]: `[`"),
    ],
)
def test_expressions_without_a_value_say_why(text, message):
    with pytest.raises(CelError) as refused:
        evaluate(text, SELF)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    "text", ["", "1 +", "a b", "'open", "[1, 2", "{1}", "a.1", "for", "has(a)", "9223372036854775808", "#", "(" * 300]
)
def test_texts_that_are_no_expression_are_refused(text):
    with pytest.raises(NotReadableError):
        evaluate(text, SELF)


@pytest.mark.core(3)
@pytest.mark.parametrize(
    "text",
    [
        "big.all(a, big.all(b, big.all(c, a + b + c >= 0)))",
        "sets.equivalent(big, big)",
        "big.distinct().size() > 0",
        "big.all(x, big == big)",
        "wide.replace('', wide).size() > 0",
        "big.map(x, wide).join('').size() > 0",
        "'%.999999999f'.format([1.0]) + wide.replace('a', wide)",
        "lists.range(100000000).size() > 0",
        "big.exists(a, big.exists(b, big.exists(c, false)))",
    ],
)
def test_what_would_take_too_long_ends(text):
    def compute() -> None:
        with pytest.raises(CelError, match="actual cost limit exceeded"):
            evaluate(text, {"big": list(range(2000)), "wide": "a" * 100_000})

    _, seconds = measure(compute)

    assert seconds < 2


def test_budget_is_counted_over_calls():
    meter = Meter(100)

    def spend():
        for _ in range(100):
            evaluate("1 + 1 == 2", {}, meter)

    with pytest.raises(CostError):
        spend()


def test_names_of_an_expression_are_found():
    assert names_in(parse("self.a[oldSelf.b] == [x, {y: z}].size() ? f(u) : v.w(q)")) == {
        *("self", "oldSelf", "x", "y", "z", "u", "v", "q")
    }


@pytest.mark.core(4)
@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("1" + " + 1" * 249 + " > 0", True),
        ("1" + " + 1" * 250 + " > 0", False),
        ("'a'" + ".trim()" * 249 + " == 'a'", True),
        ("'a'" + ".trim()" * 250 + " == 'a'", False),
        ("false ? true : " * 249 + "true", True),
        ("[true]" + ".filter(x, x)" * 249 + "[0]", True),
        ("!" * 300 + "true", True),
        ("true" + " && true" * 400, True),
    ],
    ids=["sum", "longer-sum", "calls", "more-calls", "conditions", "macros", "signs", "logic"],
)
def test_expression_as_deep_as_the_server_reads_has_a_value(text, is_read):
    found, problem = check_expression(text, {})
    if is_read:
        assert (str(found), problem, evaluate(text, {})) == ("bool", "", True)
        tree = parse(text)
        assert estimate_cost(tree, find_kinds(tree, {}), DYN) >= 0
    else:
        assert problem == "compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded"


def test_signs_in_pairs_say_nothing():
    assert check_expression("!!'a' == 'a'", {})[1] == ""
    assert "applied to '(string)'" in check_expression("!'a' == true", {})[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("uint('-1')", "type conversion error from 'string' to 'uint'"),
        ("double('x')", "type conversion error from 'string' to 'double'"),
        (f"int('{'0' * 30}{1 << 63}')", "type conversion error from 'string' to 'int'"),
        (f"int('-{'9' * 5000}')", "type conversion error from 'string' to 'int'"),
        (f"uint('{'0' * 30}{1 << 64}')", "type conversion error from 'string' to 'uint'"),
        ("double('1e400')", "type conversion error from 'string' to 'double'"),
        (f"duration('{'9' * 5000}s')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("9" * 5000, "invalid int literal"),
        (f"{'9' * 5000}u", "invalid uint literal"),
        ("bool('yes')", "type conversion error from 'string' to 'bool'"),
        ("duration('x')", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("timestamp('x')", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        ("ip('a')", 'IP Address "a" parse error during conversion from string: ParseAddr("a"): unable to parse IP'),
        ("ip('1.2.3')", 'ParseAddr("1.2.3"): IPv4 address too short'),
        ("ip('1.2.3.4.5')", 'ParseAddr("1.2.3.4.5"): IPv4 address too long'),
        ("ip('01.2.3.4')", 'ParseAddr("01.2.3.4"): IPv4 field has octet with leading zero'),
        ("ip('256.2.3.4')", 'ParseAddr("256.2.3.4"): IPv4 field has value >255'),
        ("ip('1..3.4')", 'ParseAddr("1..3.4"): IPv4 field must have at least one digit (at ".3.4")'),
        ("ip('1.2.x.4')", 'ParseAddr("1.2.x.4"): unexpected character (at "x.4")'),
        ("ip('%a')", 'ParseAddr("%a"): missing IPv6 address'),
        ("ip('::1%')", 'ParseAddr("::1%"): zone must be a non-empty string'),
        ("ip('::1%a')", 'IP address "::1%a" with zone value is not allowed'),
        ("ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        ("ip('1:2')", 'ParseAddr("1:2"): address string too short'),
        ("ip('12345::')", 'ParseAddr("12345::"): each group must have 4 or less digits (at "12345::")'),
        ("ip('1::2::3')", 'ParseAddr("1::2::3"): multiple :: in address (at ":3")'),
        ("ip('1:2:')", 'ParseAddr("1:2:"): colon must be followed by more characters (at ":")'),
        ("ip('1:x')", 'ParseAddr("1:x"): each colon-separated field must have at least one digit (at "x")'),
        ("ip('1:2x')", 'ParseAddr("1:2x"): unexpected character, want colon (at "x")'),
        ("ip('1:1.2.3.4')", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        ("ip('::1:2:3:4:5:6:7:1.2.3.4')", 'an embedded IPv4 at the end of the address (at "1.2.3.4")'),
        ("ip('1:2:3:4:5:6:7:8:9')", 'trailing garbage after address (at "9")'),
        ("ip('1::2:3:4:5:6:7:8')", "the :: must expand to at least one field of zeros"),
        ("cidr('10.0.0.0')", "netip.ParsePrefix(\"10.0.0.0\"): no '/'"),
        ("cidr('10.0.0.0/40')", 'netip.ParsePrefix("10.0.0.0/40"): prefix length out of range'),
        ("cidr('10.0.0.0/08')", 'netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08"'),
        (f"cidr('10.0.0.0/{'1' * 5000}')", f'bad bits after slash: "{"1" * 5000}"'),
        ("cidr('10.0.0.0/')", 'bad bits after slash: ""'),
        ("cidr('::1%a/8')", "IPv6 zones cannot be present in a prefix"),
        ("cidr('::ffff:1.2.3.4/8')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4/8" is not allowed'),
        ("semver('')", "Version string empty"),
        ("semver('1.2')", "No Major.Minor.Patch elements found"),
        ("semver('v1.2.0')", 'Invalid character(s) found in major number "v1"'),
        ("semver('1.02.0')", 'Minor number must not contain leading zeroes "02"'),
        ("semver('1.2.99999999999999999999')", 'strconv.ParseUint: parsing "99999999999999999999": value out of range'),
        ("semver('1..0')", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("semver('1.2.0-99999999999999999999')", 'parsing "99999999999999999999": value out of range'),
        ("semver('1.2.0-')", "Prerelease is empty"),
        ("semver('1.2.0-01')", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("semver('1.2.0-a_b')", 'Invalid character(s) found in prerelease "a_b"'),
        ("semver('1.2.0+')", "Build meta data is empty"),
        ("semver('1.2.0+a_b')", 'Invalid character(s) found in build meta data "a_b"'),
        ("semver('1.2-a', true)", "Short version cannot contain PreRelease/Build meta data"),
    ],
)
def test_text_that_cannot_be_converted_says_why(text, message):
    with pytest.raises(CelError) as found:
        evaluate(text, {})

    assert str(found.value).endswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "duration('1h30m').getMilliseconds() == 5400000 && duration('-1.5s').getMilliseconds() == -1500",
        "int('-9223372036854775808') == -9223372036854775807 - 1 && int('+0007') == 7 && double('1.') == 1.0",
        f"duration('.5s') == duration('500ms') && duration('1.{'3' * 5000}s') < duration('1.4s')",
        "semver('v01.002', true) == semver('1.2.0') && semver('v1', true) == semver('1.0.0')",
        "isSemver('1.2.3-a.1+b.2') && !isSemver('1.2') && isSemver('1.2', true)",
        "['::', '1::', '::1', '1:2:3:4:5:6:7:8', '1::1.2.3.4', '1:2:3:4:5:6:1.2.3.4'].all(a, isIP(a))",
        "isCIDR('::/0') && isCIDR('10.0.0.1/8') && !isCIDR('10.0.0.0/+8') && !isIP('')",
    ],
)
def test_texts_are_read_as_go_reads_them(text):
    assert evaluate(text, {}) is True
