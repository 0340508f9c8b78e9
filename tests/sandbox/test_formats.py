"""Which texts have the formats that a definition may name; the answers are those of k8s.io/kube-openapi."""

from __future__ import annotations

import pytest

from applyviz.sandbox.schema.formats import has_format

GOOD = {
    "duration": ("90s", "1m30s", "-1.5h", "0", "22 ns", "3 days", "1 Week", "in 5 minutes"),
    "byte": ("YQ==", "AAEC"),
    "hostname": ("a", "shop.example.com", "1a.example.london", "ü.example.com"),
    "mac": ("02:00:5e:10:00:00", "02-00-5e-10-00-00", "0200.5e10.0000", "02:00:5e:10:00:00:00:01"),
    "hexcolor": ("#fff", "00ff7F"),
    "uuid": ("11111111-1111-1111-1111-111111111111", "11111111111111111111111111111111"),
    "uuid3": ("11111111-1111-3111-1111-111111111111",),
    "uuid4": ("11111111-1111-4111-8111-111111111111",),
    "uuid5": ("11111111-1111-5111-B111-111111111111",),
    "k8s-short-name": ("web", "web-1"),
    "k8s-long-name": ("web.example.com",),
    "uri": ("mailto:a@example.com", "https://example.com/a?b=%20", "/a/b c", "https://u:p@[::1]:80/a", "http://ü.de:"),
    "rgbcolor": ("rgb(0, 20,255)",),
    "ssn": ("123-45-6789", "123 45 6789"),
    "bsonobjectid": ("0123456789abcdefABCDEF01",),
    "isbn": ("978-3-16-148410-0", "0-306-40615-2", "080442957X"),
    "isbn10": ("0 306 40615 2",),
    "isbn13": ("9783161484100",),
    "creditcard": ("4111 1111 1111 1111", "no. 378282246310005"),
    "ipv4": ("10.0.0.1", "010.0.0.001", "::ffff:1.2.3.4"),
    "ipv6": ("::1", "2001:db8::1", "::ffff:1.2.3.4"),
    "cidr": ("10.0.0.1/8", "010.0.0.0/08", "::/0", f"10.0.0.0/{'0' * 5000}8"),
    "isbn14": ("a format that is not checked",),
}
BAD = {
    "duration": ("soon", "90", "5 apples", "5 hrs", "", f"{'9' * 5000}h"),
    "byte": ("", "a", "YQ=", "Y Q=="),
    "hostname": ("-a", "a..b", "a_b", "a" * 64),
    "mac": ("02:00:5e", "02:00-5e:10:00:00", "02005e100000", "02:00:5e:10:00:00:00"),
    "hexcolor": ("#ffff", "red"),
    "isbn": ("abc", "978-3-16-148410-1", "0-306-40615-3", "X80442957X", "0\xa0306 40615 2", ""),
    "isbn10": ("9783161484100",),
    "isbn13": ("0306406152",),
    "creditcard": ("1", "4111 1111 1111 1112", ""),
    "ipv4": ("1.2.3", "10.0.0.256", "::1", ""),
    "ipv6": ("1.2.3.4", "2001:db8:::1", "fe80::1%eth0"),
    "cidr": ("10.0.0.0", "10.0.0.0/33", "10.0.0.0/255.0.0.0", "10.0.0.0/-1", "::1%a/8", f"10.0.0.0/{'1' * 5000}"),
    "uri": (
        *("https://[::1", "https://a:b/", "https://a^b", "https://a%20b", "https://a\\b@c", "example", "", "1:a"),
        *("/a\tb", "https://a b/c", "https://example.com/%zz"),
    ),
    "rgbcolor": ("rgb(0,0)", "rgb(300,0,0)"),
    "ssn": ("123-456-789", "123456789"),
    "bsonobjectid": ("0123",),
    "uuid": ("1111",),
    "uuid3": ("11111111-1111-4111-1111-111111111111",),
    "uuid4": ("11111111-1111-4111-1111-111111111111",),
    "uuid5": ("11111111-1111-4111-8111-111111111111",),
    "k8s-short-name": ("Web", "a.b"),
    "k8s-long-name": ("web_1", ""),
}


@pytest.mark.parametrize(("form", "text"), [(form, text) for form, texts in GOOD.items() for text in texts])
def test_text_has_the_format(form, text):
    assert has_format(text, form)


@pytest.mark.parametrize(("form", "text"), [(form, text) for form, texts in BAD.items() for text in texts])
def test_text_does_not_have_the_format(form, text):
    assert not has_format(text, form)
