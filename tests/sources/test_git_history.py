"""The newest commits of a repository, what each changed, and which of them last changed each line."""

from __future__ import annotations

import json

import pytest
from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.pack import write_pack_objects
from dulwich.refs import Ref

from applyviz.engine.diff.words import find_runs
from applyviz.sources.git import blame as blaming
from applyviz.sources.git import fetching, history
from applyviz.sources.git.blame import OLDER, UNCOMPARED, blame_file, read_blame
from applyviz.sources.git.model import GitLimits, GitSource
from applyviz.sources.git.tree import is_below
from applyviz.sources.pinned import FetchPolicy
from tests.sources.git_server import WHEN, GitRepository, serving_git

NOW = "2026-01-01T00:00:00Z"
PATH = "/shop"


@pytest.fixture
def repository():
    return GitRepository()


@pytest.fixture
def fetch(repository):
    with serving_git({PATH: repository}) as server:
        policy = FetchPolicy(internal=(server.origin,), failure_seconds=0.0)

        def fetch_now(path: str = "", kustomization: str = ""):
            source = GitSource(server.url(PATH), "", path, kustomization)
            return fetching.add_history(fetching.fetch(source, policy=policy, now=NOW), source, policy=policy)

        yield fetch_now


def file(*lines: str) -> bytes:
    return "\n".join(lines).encode() + b"\n"


def merge(repository: GitRepository, files, *parents: str) -> str:
    """Write a commit with these parents to the branch main."""
    made = repository.commit(files)
    commit = repository.repo.object_store[ObjectID(made.encode())]
    assert isinstance(commit, Commit)
    commit.parents = [ObjectID(parent.encode()) for parent in parents]
    commit.commit_time = WHEN + 10
    repository.repo.object_store.add_object(commit)
    repository.repo.refs[Ref(b"refs/heads/main")] = commit.id
    return commit.id.decode()


def test_commits_with_author_subject_and_changed_files(fetch, repository):
    first = repository.commit({"a.yaml": file("a: 1"), "b.yaml": file("b: 1")}, message="Begin")
    second = repository.commit({"a.yaml": file("a: 2"), "b.yaml": file("b: 1")}, author="Bob <bob@example.org>")
    third = repository.commit({"a.yaml": file("a: 2")}, message="Drop b")

    rows = json.loads(fetch().facts["history"])

    assert [(row["commit"], row["author"], row["subject"], row["files"], row["parents"]) for row in rows] == [
        (third, "Ada Lovelace", "Drop b", ["b.yaml"], [second]),
        (second, "Bob", "Change things", ["a.yaml"], [first]),
        (first, "Ada Lovelace", "Begin", ["a.yaml", "b.yaml"], []),
    ]
    assert "bob@example.org" not in json.dumps(rows)


def test_lines_lead_to_the_commit_that_last_changed_them(fetch, repository):
    repository.commit({"a.yaml": file("a: 1", "b: 1", "c: 1")})
    repository.commit({"a.yaml": file("a: 1", "b: 2", "c: 1")})
    repository.commit({"a.yaml": file("new: 3", "a: 1", "b: 2", "c: 1")})

    found = fetch()

    assert found.blame == {"a.yaml": "1,1,0 2,1,2 3,1,1 4,1,2"}
    assert [read_blame(found.blame["a.yaml"], line) for line in range(1, 6)] == [0, 2, 1, 2, OLDER]
    assert fetching.freeze(found, GitSource("x"))[0].provenance["blame"] == found.blame["a.yaml"]


def test_merge_passes_lines_to_the_branch_that_brought_them(fetch, repository):
    base = repository.commit({"a.yaml": file("a: 1", "b: 1")})
    ours = repository.commit({"a.yaml": file("a: 2", "b: 1")})
    theirs = merge(repository, {"a.yaml": file("a: 1", "b: 2")}, base)
    merged = merge(repository, {"a.yaml": file("a: 2", "b: 2")}, ours, theirs)

    found = fetch()
    rows = json.loads(found.facts["history"])

    by_line = [rows[read_blame(found.blame["a.yaml"], line)]["commit"] for line in (1, 2)]
    assert rows[0]["commit"] == merged
    assert by_line == [ours, theirs]


def test_lines_before_the_fetched_commits_are_older(fetch, repository, monkeypatch):
    monkeypatch.setattr(history, "DEPTH", 2)
    for number in range(4):
        repository.commit({"a.yaml": file("a: 0", f"b: {number}")})

    found = fetch()

    assert len(json.loads(found.facts["history"])) == 2
    assert found.blame == {"a.yaml": "1,1,-1 2,1,0"}
    assert json.loads(found.facts["history"])[-1]["files"] is None


def test_only_files_that_are_meant_count(fetch, repository):
    repository.commit({"deploy/a.yaml": file("a: 1"), "src/main.py": b"x"})
    repository.commit({"deploy/a.yaml": file("a: 1"), "src/main.py": b"y"})

    rows = json.loads(fetch("deploy").facts["history"])

    assert [row["files"] for row in rows] == [[], ["deploy/a.yaml"]]


@pytest.mark.parametrize(
    ("name", "path", "is_meant"),
    [
        ("deploy/a.yaml", "", True),
        ("deploy/a.yaml", "./deploy/", True),
        ("deploy/a.yaml", "deploy/a.yaml", True),
        ("deploy-two/a.yaml", "deploy", False),
        ("deploy/x/a.yaml", "deploy/**/*.yaml", True),
        ("src/a.yaml", "deploy/**/*.yaml", False),
    ],
)
def test_what_a_path_means(name, path, is_meant):
    assert is_below(name, path) == is_meant


def test_history_that_is_too_large_is_left_out(fetch, repository, monkeypatch):
    monkeypatch.setattr(history, "LIMITS", GitLimits(pack_bytes=10))
    repository.commit({"a.yaml": file("a: 1")})

    found = fetch()

    assert ("history" in found.facts, found.blame, len(found.files)) == (False, {}, 1)


def test_long_histories_are_cut(fetch, repository, monkeypatch):
    files = {f"deploy/{'x' * 200}{number}.yaml": file("a: 1") for number in range(150)}
    repository.commit(files)
    for number in range(15):
        repository.commit({name: file(f"a: {number + 2}") for name in files})

    found = fetch()
    rows = json.loads(found.facts["history"])

    assert [len(row["files"] or ()) for row in rows[:11]] == [101] * 10 + [0]
    assert rows[-1]["files"] is None
    assert len(found.facts["history"]) < 500_000


@pytest.mark.long
def test_blame_of_many_lines_is_cut(fetch, repository):
    lines = [str(number) for number in range(100)]
    for step in range(2):
        changed = file(*(f"line {line} {step if int(line) % 2 else '-'}" for line in lines))
        repository.commit({f"{number:03}.yaml": changed for number in range(400)})

    found = fetch()

    assert 190_000 < sum(map(len, found.blame.values())) <= 200_000
    assert len(found.blame) < 400


@pytest.mark.long
def test_lines_that_take_too_long_leave_the_commits(fetch, repository, monkeypatch):
    monkeypatch.setattr(history, "LIMITS", GitLimits(cpu_seconds=1))
    for step in range(4):
        changed = file(*(f"{n}{step if n % 2 else ''}" for n in range(19_000)))
        repository.commit({f"{number:02}.yaml": changed for number in range(20)})

    found = fetch()

    assert (len(json.loads(found.facts["history"])), len(found.blame) < 20) == (4, True)


def blame(*versions: list[str]) -> list[int]:
    """The commit of each line of the last version; the newest commit is number 0."""
    objects: dict[ObjectID, Blob | Tree | Commit] = {}
    commits: list[Commit] = []
    for number, lines in enumerate(versions):
        blob, tree, commit = Blob.from_string(file(*lines)), Tree(), Commit()
        tree.add(b"a", 0o100644, blob.id)
        commit.tree, commit.parents = tree.id, [one.id for one in commits[-1:]]
        commit.author = commit.committer = b"A <a@b>"
        commit.author_time = commit.commit_time = WHEN + number
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = b"x"
        objects |= {one.id: one for one in (blob, tree, commit)}
        commits.append(commit)
    text = blame_file(objects, {one.id: one for one in reversed(commits)}, "a")
    return [read_blame(text, line) for line in range(1, len(versions[-1]) + 1)]


def test_lines_that_repeat_each_other_are_compared_in_part(monkeypatch):
    """A line that the older version lacks is of the newer commit; a line that it may have is of no commit."""
    count = 60
    old = ["head", *(line for n in range(count) for line in ("a", "b")[n % 2 == 0 :]), "tail"]
    new = ["head", "new", *(line for n in range(count) for line in ("a", "b")[n % 3 == 0 :]), "tail"]
    whole = blame(old, new)
    monkeypatch.setattr(blaming, "_MOST_STEPS", 500)

    found = blame(old, new)

    assert UNCOMPARED not in whole
    assert (found[0], found[1], found[-1]) == (1, 0, 1)
    assert UNCOMPARED in found
    assert {now for now, exact in zip(found, whole, strict=True) if now != exact} == {UNCOMPARED}


def test_one_file_of_equal_lines_takes_no_time_of_the_others(monkeypatch):
    """All lines and pairs that are compared of one file, in all of its commits, are bounded."""
    spent = []

    def count(old, new, left, *, of_each):
        found = find_runs(old, new, left, of_each=of_each)
        spent.append(left - found.left)
        return found

    monkeypatch.setattr(blaming, "_MOST_STEPS", 20_000)
    monkeypatch.setattr(blaming, "find_runs", count)
    versions = [[("a", "b")[n % (2 + step) == 0] for n in range(1_500)] for step in range(12)]

    found = blame(*versions)

    assert UNCOMPARED in found
    assert sum(spent) < 2 * 20_000


def test_no_line_of_a_very_long_file_is_compared():
    lines = [str(n) for n in range(20_001)]

    assert set(blame(lines, [*lines, "x"])) == {UNCOMPARED}


def test_damaged_history_is_left_out():
    assert history.read_history(b"PACK-damaged", b"0" * 40, GitSource("x"), ("a.yaml",)) is None


@pytest.mark.long
def test_folder_that_repeats_ends_early_without_a_history(repository, monkeypatch):
    """A change of 2^40 files is never listed: the child ends at its limit, and nothing is left of it."""
    monkeypatch.setattr(history, "LIMITS", GitLimits(cpu_seconds=2))

    def nest(content: bytes):
        blob = Blob.from_string(content)
        objects, tree = [blob], Tree()
        tree.add(b"f", 0o100644, blob.id)
        objects.append(tree)
        for _ in range(40):
            above = Tree()
            above.add(b"a", 0o040000, tree.id)
            above.add(b"b", 0o040000, tree.id)
            objects.append(above)
            tree = above
        return objects, tree

    (first, old), (second, new) = nest(b"1"), nest(b"2")
    commits = []
    for tree, parents in ((old, []), (new, None)):
        commit = Commit()
        commit.tree, commit.parents = tree.id, parents if parents is not None else [commits[0].id]
        commit.author = commit.committer = b"A <a@b>"
        commit.author_time = commit.commit_time = WHEN
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = b"x"
        commits.append(commit)
    written = bytearray()
    write_pack_objects(
        written.extend, [(one, None) for one in (*first, *second, *commits)], object_format=DEFAULT_OBJECT_FORMAT
    )

    found = history.read_history(bytes(written), commits[1].id, GitSource("x", path="nowhere"), ())

    assert found is None


def test_blame_of_nothing():
    assert blame_file({}, {}, "a") == ""
