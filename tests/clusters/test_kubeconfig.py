"""Uploaded kubeconfigs: what names a server and proves who asks is taken, everything else refused with its reason."""

import base64

import pytest
import yaml

from applyviz.clusters.kubeconfig import MAX_VALUES, KubeconfigError, read_kubeconfig
from applyviz.clusters.live import from_credential

PEM = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").decode()


def build(cluster=None, user=None, **top):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "prod",
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
        "clusters": [
            {
                "name": "c",
                "cluster": {
                    "server": "https://api.example:6443/",
                    "certificate-authority-data": PEM,
                    **(cluster or {}),
                },
            }
        ],
        "users": [{"name": "u", "user": {"token": "t0ken"} if user is None else user}],
        **top,
    }
    return yaml.safe_dump(config).encode()


def reasons(data, context=""):
    with pytest.raises(KubeconfigError) as raised:
        read_kubeconfig(data, context=context)
    return raised.value.reasons


def test_plain_kubeconfig_is_taken():
    taken = read_kubeconfig(build())

    assert (taken.server, taken.ca_data, taken.token, taken.namespace) == (
        "https://api.example:6443",
        PEM,
        "t0ken",
        "shop",
    )
    assert "t0ken" not in repr(taken)


def test_client_certificate_is_taken():
    taken = read_kubeconfig(build(user={"client-certificate-data": PEM, "client-key-data": PEM}))

    assert (taken.client_certificate_data, taken.client_key_data) == (PEM, PEM)


@pytest.mark.parametrize(
    ("user", "field"),
    [
        ({"exec": {"command": "aws", "apiVersion": "client.authentication.k8s.io/v1"}}, "exec"),
        ({"auth-provider": {"name": "oidc"}}, "auth-provider"),
        ({"tokenFile": "/var/run/token"}, "tokenFile"),
        ({"client-certificate": "/etc/passwd"}, "client-certificate"),
        ({"client-key": "key.pem"}, "client-key"),
        ({"username": "admin"}, "username"),
        ({"password": "admin"}, "password"),
        ({"as": "system:admin"}, "as"),
        ({"as-groups": ["system:masters"]}, "as-groups"),
        ({"as-user-extra": {"a": ["b"]}}, "as-user-extra"),
        ({"invented": "x"}, "invented"),
    ],
)
def test_user_fields_are_refused(user, field):
    found = reasons(build(user={"token": "t", **user}))

    assert len(found) == 1
    assert found[0].startswith(f"user: `{field}` is refused: ")


@pytest.mark.parametrize(
    ("cluster", "field"),
    [
        ({"certificate-authority": "/etc/ssl/ca.pem"}, "certificate-authority"),
        ({"proxy-url": "http://proxy.example"}, "proxy-url"),
        ({"insecure-skip-tls-verify": True}, "insecure-skip-tls-verify"),
        ({"disable-compression": True}, "disable-compression"),
    ],
)
def test_cluster_fields_are_refused(cluster, field):
    found = reasons(build(cluster=cluster))

    assert len(found) == 1
    assert found[0].startswith(f"cluster: `{field}` is refused: ")


def test_all_reasons_come_at_once():
    found = reasons(
        build(cluster={"server": "http://api.example", "proxy-url": "http://p"}, user={"exec": {"command": "x"}})
    )

    assert len(found) == 4


@pytest.mark.parametrize(
    "server",
    ["http://api.example", "https://", "ftp://api.example", "api.example", "https://user:pw@api.example",
     "https://a..b", f"https://{'a' * 64}.example", "https://api.example/?x=1", "https://api.example:99999",
     "https://[::1", ""],
)  # fmt: skip
def test_server_must_be_plain_https(server):
    assert any("server" in reason for reason in reasons(build(cluster={"server": server})))


@pytest.mark.parametrize("data", ["%%%", "AAAA", base64.b64encode(b"not pem").decode()])
def test_certificates_must_be_pem(data):
    assert any("certificate-authority-data" in r for r in reasons(build(cluster={"certificate-authority-data": data})))


@pytest.mark.parametrize("token", ["a\r\nHost: evil", "a b", "\N{EURO SIGN}", "a\x00", "a\x7f"])
def test_token_must_be_what_a_header_carries(token):
    assert reasons(build(user={"token": token})) == (
        "user: `token` must be one line of printable ASCII without blanks",
    )


@pytest.mark.parametrize("name", ["a..b", ".a", "a" * 64, "a\x00b", "a b", "\N{EURO SIGN}", "a." * 130 + "a", "[::1]"])
def test_name_of_the_server_must_be_one_that_tls_asks_for(name):
    assert reasons(build(cluster={"tls-server-name": name})) == (
        "cluster: `tls-server-name` must be a host name or an address",
    )


@pytest.mark.parametrize("name", ["api.example", "a_b-1", "10.0.0.1", "fd00::1"])
def test_name_of_the_server_is_taken(name):
    assert read_kubeconfig(build(cluster={"tls-server-name": name})).tls_server_name == name


def test_certificates_may_have_comments_in_any_language():
    bundle = base64.b64encode("# Autorit\u00e9\n-----BEGIN CERTIFICATE-----\nAAAA\n".encode()).decode()
    credential = read_kubeconfig(build(cluster={"certificate-authority-data": bundle}))

    assert from_credential(credential).server == "https://api.example:6443"


def test_key_and_certificate_belong_together():
    assert "user: a client certificate needs its key, and the key its certificate" in reasons(
        build(user={"client-certificate-data": PEM})
    )


def test_somebody_must_ask():
    assert reasons(build(user={})) == ("user: there is neither a token nor a client certificate",)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfe", "not readable"),
        (b"a: [", "not readable"),
        (b"- a", "not a kubeconfig"),
        (b"kind: Pod", "not a kubeconfig"),
        (b"a: &x [1]\nb: *x", "aliases"),
        (b"a" * (600 * 1024), "larger than"),
        (b"kind: Config", "no context is named"),
        (b"[" * 5_000, "nested too deeply"),
        (b"a: [" + b"1," * 200_000 + b"]", "more than 20,000 values"),
        (b"a:\n" + b"-\n" * 200_000, "more than 20,000 values"),
        (b"".join(b"%d:\n" % n for n in range(15_000)), "more than 20,000 values"),
        (b"a: " + b"1:" * 200_000 + b"1", "a number of many parts"),
        (b"a: [-1" + b":1" * 200 + b".5]", "a number of many parts"),
        (b"a: !!bool maybe", "YAML tags are refused"),
        (b"a: !!int ''", "YAML tags are refused"),
        (b"a: !!timestamp now", "YAML tags are refused"),
        (b"!!python/name:os.system\na: b", "YAML tags are refused"),
    ],
)
def test_broken_files_are_refused(data, reason):
    assert reason in " ".join(reasons(data))


def test_context_must_be_whole():
    assert reasons(build(), "staging") == ("there is no context 'staging'",)
    assert reasons(build(users=[])) == ("context 'prod' names a user that is not there",)
    assert reasons(build(clusters=None, users=[])) == (
        "context 'prod' names a cluster that is not there",
        "context 'prod' names a user that is not there",
    )


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254", "169.254.1.1:6443", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[fe80::1]",
        "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16",
    ],
)  # fmt: skip
def test_link_local_server_is_refused_in_every_spelling(host):
    assert reasons(build(cluster={"server": f"https://{host}"})) == (
        "cluster: `server` is a link-local address or a metadata service of a cloud; no cluster is there",
    )


@pytest.mark.parametrize("host", ["127.0.0.1:6443", "10.0.0.1", "[fd00::1]:6443", "192.168.1.1"])
def test_server_in_one_s_own_network_is_taken(host):
    assert read_kubeconfig(build(cluster={"server": f"https://{host}"})).server == f"https://{host}"


@pytest.mark.parametrize("entry", [b"1,", b"[],", b"{},", b"{a: 1},", b'"",'])
def test_values_beyond_the_limit_are_not_read(monkeypatch, entry):
    """Whatever a file of 512 KiB holds, only so many of its values are looked at, and none is made."""
    read = []
    events = yaml.parse
    monkeypatch.setattr(yaml, "parse", lambda text, **given: (read.append(1) or one for one in events(text, **given)))
    monkeypatch.setattr(yaml, "load", lambda *_, **__: pytest.fail("the values are made"))

    with pytest.raises(KubeconfigError, match="more than 20,000 values"):
        read_kubeconfig(b"a: [" + entry * (500_000 // len(entry)) + b"]")

    assert len(read) <= 2 * MAX_VALUES


def test_kubeconfig_of_many_contexts_is_taken():
    """1,500 of them, with half of the values that are read at most."""
    named = [f"- {{name: a{n}, context: {{cluster: c, user: u}}}}" for n in range(1_500)]
    text = "\n".join((
        "kind: Config", "current-context: a0",
        "contexts:", *named,
        "clusters:", "- {name: c, cluster: {server: 'https://k8s.example'}}",
        "users:", "- {name: u, user: {token: t}}",
    ))  # fmt: skip

    assert read_kubeconfig(text.encode()).server == "https://k8s.example"
