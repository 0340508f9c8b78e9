"""Git repositories as sources: what is fetched, what is refused, and what is said; over real smart HTTPS."""

from __future__ import annotations

import socket

import msgspec
import pytest
from dulwich.objects import Commit, Tree

from applyviz.engine.objects.errors import SourceError
from applyviz.engine.objects.structs import replace
from applyviz.sources import kustomize
from applyviz.sources.bundle import BundledFile
from applyviz.sources.git import addresses, fetching, tree
from applyviz.sources.git.model import FetchedFiles, GitLimits, GitLogin, GitSource, RefusedFilesError
from applyviz.sources.git.pack_cache import PackCache, PackName
from applyviz.sources.pinned import FetchPolicy
from tests.sources.git_server import LINK, SUBMODULE, GitRepository, serving_git
from tests.sources.servers import Authority, make_authority

APP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n"
NOW = "2026-01-01T00:00:00Z"
PATH = "/team/shop.git"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def repository() -> GitRepository:
    return GitRepository()


@pytest.fixture
def server(repository, authority):
    with serving_git({PATH: repository}, authority.context("localhost")) as found:
        yield found


@pytest.fixture
def policy(server, authority) -> FetchPolicy:
    return FetchPolicy(internal=(server.origin,), ca_file=str(authority.file), failure_seconds=0.0, total_seconds=10.0)


@pytest.fixture
def fetch(server, policy):
    def fetch_now(ref: str = "", path: str = "", kustomization: str = "", **rest) -> FetchedFiles:
        source = GitSource(rest.pop("url", server.url(PATH)), ref, path, kustomization)
        return fetching.fetch(source, policy=rest.pop("policy", policy), now=NOW, **rest)

    return fetch_now


@pytest.fixture
def refusal(fetch):
    def refuse(*given, **rest) -> str:
        with pytest.raises(SourceError) as caught:
            fetch(*given, **rest)
        return str(caught.value)

    return refuse


def names(found: FetchedFiles) -> list[str]:
    return [file.name for file in found.files]


def test_newest_commit_of_the_default_branch_is_fetched_with_its_facts(fetch, repository, server):
    repository.commit({"deploy/app.yaml": b"old"})
    commit = repository.commit({"deploy/app.yaml": APP, "deploy/README.md": b"text"}, message="Fix it\n\nBecause.")

    found = fetch(path="deploy")

    assert [(file.name, file.data) for file in found.files] == [("deploy/app.yaml", APP)]
    assert found.facts == {
        "repository": server.url(PATH), "ref": "main", "ref_kind": "branch", "asked_ref": "", "path": "deploy",
        "kustomization": "", "fetched_at": NOW, "commit": commit, "author": "Ada Lovelace",
        "date": "2026-01-01T00:00:00+00:00", "subject": "Fix it",
    }  # fmt: skip


@pytest.mark.core(1)
@pytest.mark.parametrize("is_annotated", [True, False])
def test_branches_tags_full_refs_and_commits(fetch, repository, is_annotated):
    first = repository.commit({"app.yaml": b"first"})
    repository.tag("v1", first, is_annotated=is_annotated)
    second = repository.commit({"app.yaml": b"second"})
    third = repository.commit({"app.yaml": b"third"}, branch="topic")

    found = {ref: fetch(ref) for ref in ("main", "v1", "refs/tags/v1", "topic", "refs/heads/topic", second)}

    assert {ref: one.facts["commit"] for ref, one in found.items()} == {
        "main": second, "v1": first, "refs/tags/v1": first, "topic": third, "refs/heads/topic": third, second: second,
    }  # fmt: skip
    assert [one.facts["ref_kind"] for one in found.values()] == ["branch", "tag", "tag", "branch", "branch", "commit"]
    assert found["v1"].files[0].data == b"first"


def count_packs(server) -> int:
    return sum(path.endswith("/git-upload-pack") for method, path, _sent in server.seen if method == "POST")


def test_commit_is_sent_once_and_its_refs_are_asked_for_each_time(fetch, repository, server):
    repository.commit({"app.yaml": b"first", "deploy/app.yaml": APP})

    found = [fetch(), fetch(path="deploy"), fetch("main")]

    assert [names(one) for one in found] == [["app.yaml", "deploy/app.yaml"], ["deploy/app.yaml"], names(found[0])]
    assert (count_packs(server), len(server.seen)) == (1, 4)
    newer = repository.commit({"app.yaml": b"second"})
    assert fetch().facts["commit"] == newer
    assert count_packs(server) == 2


def test_kept_commit_serves_no_other_credential(fetch, repository, server):
    commit = repository.commit({"app.yaml": APP})
    for token in ("token-one", "token-two", "token-two"):
        login = GitLogin(server.origin, "git", token)
        assert fetch(commit, credential=login).facts["commit"] == commit
    assert count_packs(server) == 2


def test_packs_make_room_for_newer_ones():
    cache = PackCache(most_bytes=10, largest=6)
    one, two, three = (PackName("r", oid, 1, b"") for oid in (b"1", b"2", b"3"))
    cache.keep(one, b"12345")
    cache.keep(two, b"12345")
    cache.find(one)
    cache.keep(three, b"12345")
    cache.keep(PackName("r", b"4", 1, b""), b"1234567")

    assert [cache.find(name) is not None for name in (one, two, three)] == [True, False, True]
    assert cache.find(PackName("r", b"4", 1, b"")) is None


def test_folder_file_glob_and_whole_repository(fetch, repository):
    repository.commit({"a/one.yaml": b"1", "a/b/two.json": b"2", "a/b/c/three.yml": b"3", "four.yaml": b"4", "x": b"5"})

    assert names(fetch(path="a")) == ["a/b/c/three.yml", "a/b/two.json", "a/one.yaml"]
    assert names(fetch(path="./a/b/")) == ["a/b/c/three.yml", "a/b/two.json"]
    assert names(fetch(path="four.yaml")) == ["four.yaml"]
    assert names(fetch(path="a/*.yaml")) == ["a/one.yaml"]
    assert names(fetch(path="**/*.y*ml")) == ["a/b/c/three.yml", "a/one.yaml", "four.yaml"]
    assert len(names(fetch())) == 4


@pytest.mark.parametrize(
    ("name", "pattern", "is_match"),
    [
        ("a/b.yaml", "a/*", True),
        ("a/c/b.yaml", "a/*", False),
        ("a/c/b.yaml", "a/**", True),
        ("b.yaml", "**/b.yaml", True),
        ("a/c/d/b.yaml", "a/**/b.yaml", True),
        ("a/b.yaml", "A/*", False),
        ("a/b1.yaml", "a/b[0-9].yaml", True),
        ("a" * 200, "*a" * 60 + "b", False),
    ],
)
def test_globs(name, pattern, is_match):
    assert tree.matches(name, pattern) is is_match


def test_kustomization_gets_every_file_below_its_path(fetch, repository, monkeypatch):
    repository.commit({"shop/base/app.yaml": APP, "shop/base/values.txt": b"v", "other/x.yaml": b"x"})
    monkeypatch.setattr(
        kustomize,
        "render",
        lambda bundle, folder, run: BundledFile(folder, str(len(bundle.files)).encode(), {"from": "kustomize"}),
    )

    found = fetch(path="shop", kustomization="shop/base")
    frozen = fetching.freeze(found, GitSource("r", kustomization="shop/base"))

    assert names(found) == ["shop/base/app.yaml", "shop/base/values.txt"]
    assert [(file.data, file.provenance["from"], file.provenance["commit"]) for file in frozen] == [
        (b"2", "kustomize", found.facts["commit"])
    ]


def test_unknown_refs_and_paths_say_what_to_do(refusal, repository):
    commit = repository.commit({"docs/readme.md": b"text"})
    repository.tag("main", commit)

    assert "has no branch and no tag nope: check the name" in refusal("nope")
    assert "all 40 digits" in refusal(commit[:10])
    assert "has no refs/heads/nope" in refusal("refs/heads/nope")
    assert "has a branch and a tag main" in refusal("main")
    assert "there is no deploy in this commit" in refusal(path="deploy")
    assert "docs has no manifests: files end in .json, .yaml, .yml" in refusal(path="docs")
    assert "*.yaml matches no file" in refusal(path="*.yaml")


def test_empty_repository(refusal):
    assert "is empty: it has no commit" in refusal()


@pytest.mark.parametrize("ref", ["-upload-pack=x", "a b", "a..b", "a~1", "/a", "x" * 300, "a.lock"])
def test_refs_that_are_none_are_refused_before_anything_is_sent(refusal, server, ref):
    assert "is not a branch, tag or commit" in refusal(ref)
    assert server.seen == []


@pytest.mark.parametrize("path", ["../x", "a/../../x", "a\x00b", "C:/x"])
def test_paths_out_of_the_repository_are_refused(refusal, server, path):
    refusal(path=path)
    assert server.seen == []


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc", "enter the https or ssh address"),
        ("ext::sh -c id", "enter the https or ssh address"),
        ("https://user:pw@localhost/a", "user name or token"),
        ("https://localhost/a?x=1", "no query"),
        ("https://github.com/o/r/tree/main/deploy", "page of the repository"),
        ("https://gitlab.com/o/r/-/tree/main", "page of the repository"),
        ("https://localhost/a/../b", "does not name a repository"),
        ("https://localhost/%2e%2e/b", "does not name a repository"),
        ("https://localhost/", "does not name a repository"),
        ("https://[", "not an address"),
        ("https://localhost/" + "a" * 1000, "too long"),
        ("http://example.com/a", "only https"),
        ("https://example.com:8443/a", "port 443"),
    ],
)
def test_addresses_that_are_refused(policy, url, reason):
    with pytest.raises(SourceError, match=reason):
        addresses.read_repository(url, policy)


def test_private_and_rebinding_names_are_never_connected_to(refusal, authority):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.2)
        outside = FetchPolicy(failure_seconds=0.0, total_seconds=2.0)
        for found in (("127.0.0.1",), ("93.184.215.14", "10.0.0.1"), ("169.254.169.254",), ()):
            said = refusal(url="https://repo.example/a/b", policy=outside, resolver=lambda *_, f=found: f)
            assert said == "nothing could be fetched from repo.example"
        with pytest.raises(TimeoutError):
            listener.accept()


def test_link_local_addresses_are_refused_even_for_allowed_hosts(refusal):
    allowed = FetchPolicy(internal=("https://git.internal",), failure_seconds=0.0, total_seconds=2.0)

    said = refusal(url="https://git.internal/a", policy=allowed, resolver=lambda *_: ("169.254.169.254",))

    assert said == "nothing could be fetched from git.internal"


def test_symbolic_links_are_never_followed(refusal, fetch, repository):
    repository.commit({"a/app.yaml": APP, "a/link": (LINK, b"../../../etc/passwd")})
    assert names(fetch(path="a")) == ["a/app.yaml"]

    repository.commit({"a/app.yaml": APP, "a/evil.yaml": (LINK, b"/etc/passwd")})
    assert "a/evil.yaml is a symbolic link" in refusal(path="a")
    assert "a/evil.yaml is a symbolic link" in refusal(path="a/*.yaml")
    repository.commit({"a": (LINK, b"/etc")})
    assert "a is a symbolic link" in refusal(path="a/passwd")
    assert "a is a symbolic link" in refusal(path="a")


def test_submodules_are_left_out(refusal, fetch, repository):
    repository.commit({"a/app.yaml": APP, "a/vendor": (SUBMODULE, b"1" * 40)})

    assert names(fetch(path="a")) == ["a/app.yaml"]
    assert "a/vendor is a submodule" in refusal(path="a/vendor")
    assert "a/vendor is a submodule: enter the address of its repository" in refusal(path="a/vendor/app.yaml")
    assert "there is no a/app.yaml/b.yaml" in refusal(path="a/app.yaml/b.yaml")


@pytest.mark.parametrize("name", ["..", ".git", ".GIT", "."])
def test_names_that_lead_out_are_refused(refusal, repository, name):
    repository.commit({f"a/{name}/app.yaml": APP})

    assert "leads out of it" in refusal(path="a")


def test_files_of_lfs_and_odd_names_are_refused(refusal, repository):
    repository.commit({"app.yaml": b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"})
    assert "stored in Git LFS" in refusal()


def test_every_file_that_is_not_taken_is_named_and_the_others_are_read(fetch, repository):
    lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n"
    repository.commit({"a.yaml": lfs, "b.yaml": (LINK, b"a.yaml"), "c.yaml": APP, "d.yaml": APP * 20, "e.yaml": lfs})

    with pytest.raises(RefusedFilesError) as caught:
        fetch(limits=GitLimits(file_bytes=500))

    received = caught.value.received
    assert names(received) == ["c.yaml"]
    assert {one.name: one.reason.partition(",")[0] for one in received.refused} == {
        "a.yaml": "stored in Git LFS",
        "b.yaml": "a symbolic link",
        "d.yaml": "larger than 500 bytes",
        "e.yaml": "stored in Git LFS",
    }
    assert "a.yaml is stored in Git LFS" in str(caught.value)
    assert msgspec.convert(msgspec.to_builtins(received), FetchedFiles) == received


LIMITS = [
    (GitLimits(pack_bytes=200), "larger than 200 bytes"),
    (GitLimits(objects=2), "more than 2 objects"),
    (GitLimits(entries=3), "more than 3 files and folders"),
    (GitLimits(depth=1), "nested more than 1 deep"),
    (GitLimits(files=1), "more than 1 files"),
    (GitLimits(file_bytes=10), "larger than 10 bytes"),
    (GitLimits(total_bytes=60), "larger than 60 bytes together"),
]


@pytest.mark.core(3)
@pytest.mark.parametrize(("limits", "reason"), LIMITS)
def test_limits(refusal, repository, limits, reason):
    repository.commit({"a/b/c/one.yaml": APP, "a/b/c/two.yaml": APP + b"# two\n"})

    assert reason in refusal(limits=limits)


@pytest.mark.long
def test_the_same_folder_a_million_times_ends_early(refusal, repository):
    """A few small trees that name each other: 10 ** 10 paths."""
    repository.commit({"/".join(["x"] * 2 + ["a.yaml"]): b"1"})
    files: dict = {}
    for n in range(10):
        files[f"{n}.yaml"] = b"1"
    store = repository.repo.object_store
    below = repository._tree(files)
    for _ in range(10):
        folder = Tree()
        for n in range(10):
            folder.add(str(n).encode(), 0o040000, below)
        store.add_object(folder)
        below = folder.id
    commit = repository.repo[repository.commit({"a.yaml": b"1"}).encode()]
    bomb = Commit.from_string(commit.as_raw_string().replace(commit.tree, below))
    store.add_object(bomb)
    repository.repo.refs[b"refs/heads/main"] = bomb.id

    assert "more than 50,000 files and folders" in refusal()


def test_untrusted_certificate(refusal, policy):
    assert "certificate of localhost is not trusted" in refusal(policy=replace(policy, ca_file=""))


@pytest.mark.parametrize(
    ("prefix", "repository", "is_covered"),
    [
        ("https://h/team", "https://h/team/app", True),
        ("https://h/team/app", "https://h/team/app.git", True),
        ("https://h/", "https://h/team/app", True),
        ("https://h", "https://h/team/app", True),
        ("https://h/team", "https://h/team-two/app", False),
        ("https://h/team", "https://h/team/../other/app", False),
        ("https://h/team", "https://h/team/%2e%2e/other", False),
        ("https://h/team", "https://h.evil/team/app", False),
        ("https://h/team", "http://h/team/app", False),
        ("https://h/team", "https://h:8443/team/app", False),
        ("https://h/team", "https://h:443/team/app", True),
        ("https://h/team", "https://[", False),
    ],
)
def test_what_a_login_covers(prefix, repository, is_covered):
    assert addresses.covers(prefix, repository) is is_covered
