"""Where commits are on the trunk: the same whether the trunk is read anew or has grown since it was kept."""

import random

import pytest
from helpers.doors import watched_doors
from helpers.repos import START, Repo

from scoring.evidence.git import places as git_places
from scoring.evidence.git.cache import GitCache
from scoring.evidence.git.places import TrunkPlaces, trunk_places
from scoring.evidence.git.repository import GitRepository

HOUR = 3_600


def commits_of(repo: Repo, tip: str, subjects: bool, cache: GitCache | None = None) -> object:
    repository = GitRepository(repo.path)
    cache = cache or GitCache(None, repository.common_dir)
    trunk_places(repository, tip, cache, subjects)
    return cache.section("places", dict[str, object])[tip]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repo, list[str]]:
    """A trunk that grows at its end, takes older commits in, is put back, and goes another way; and its tips."""
    repo = Repo(tmp_path_factory.mktemp("grown") / "repo")
    one = repo.commit({"a": "1"}, "one", START)
    two = repo.commit({"a": "2"}, f"two\n\nrevert {one}", START + 9 * HOUR)
    repo.branch("side", one)
    repo.commit({"s": "1"}, f"older\n\nreverts {one[:9]} as well", START + HOUR)
    repo.checkout("master")
    three = repo.merge("side", "three")
    four = repo.commit({"a": "4"}, "ONE", START + 20 * HOUR)
    repo.reset(two)
    five = repo.commit({"a": "5"}, f"five\n\nrevert {two}", START + 21 * HOUR)
    return repo, [one, two, three, four, two, five, four]


@pytest.mark.parametrize("subjects", [False, True])
def test_a_trunk_that_is_known_is_as_one_that_is_read(grown: tuple[Repo, list[str]], subjects: bool) -> None:
    repo, tips = grown
    kept = GitCache(None, GitRepository(repo.path).common_dir)
    for tip in tips:
        assert commits_of(repo, tip, subjects, kept) == commits_of(repo, tip, subjects)


def test_the_trunk_is_in_the_order_of_git_log(grown: tuple[Repo, list[str]]) -> None:
    repo, (*_, four) = grown
    repository = GitRepository(repo.path)
    places = trunk_places(repository, four, GitCache(None, repository.common_dir), subjects=False)
    found = repo.git("log", "--format=%H", four).split()
    assert [places.sha(n) for n in range(len(found))] == found


def test_of_much_that_is_new_all_is_read(grown: tuple[Repo, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    repo, (one, *_, four) = grown
    kept = GitCache(None, GitRepository(repo.path).common_dir)
    commits_of(repo, one, True, kept)
    monkeypatch.setattr(git_places, "MOST_NEW", 1)
    assert commits_of(repo, four, True, kept) == commits_of(repo, four, True)


def test_subjects_are_read_when_they_are_wanted(grown: tuple[Repo, list[str]]) -> None:
    repo, (*_, four) = grown
    repository = GitRepository(repo.path)
    kept = GitCache(None, repository.common_dir)
    assert trunk_places(repository, four, kept, subjects=False).by_subject("three") is None
    places = trunk_places(repository, four, kept, subjects=True)
    assert places.by_subject(" One ") == four
    with watched_doors() as doors:
        assert trunk_places(repository, four, kept, subjects=False).by_subject("one") == four
    assert doors.commands == []


@pytest.mark.parametrize("count", [1, 3, 200])
def test_few_and_many_are_found_alike(count: int) -> None:
    source = random.Random(count)
    shas = [f"{source.getrandbits(160):040x}" for _ in range(count)]
    subjects = [git_places._digest(str(n // 2)) for n in range(count)]
    text = "".join(f"{sha}\n" for sha in shas)
    places = TrunkPlaces(git_places._Commits(text, [], b"".join(subjects)))
    asked = [*shas, "f" * 40, shas[0][:7], ""]
    places.look_for(asked[: source.randrange(len(asked))])
    assert [places.place(sha) for sha in asked] == [*range(count), None, None, None]
    assert [places.by_subject(str(n // 2)) for n in range(count)] == [shas[n // 2 * 2] for n in range(count)]
    assert [places.by_subject(text) for text in ("", " ", "none")] == [None] * 3
    assert places.place(shas[0]) == 0


def test_a_digest_is_not_found_across_two_others() -> None:
    digest = git_places._digest("x")
    places = TrunkPlaces(git_places._Commits("a\nb\nc\n", [], bytes(8) + digest + bytes(8) + digest))
    assert places.by_subject("x") == "c"
    assert TrunkPlaces(git_places._Commits("a\nb\n", [], bytes(8) + digest + bytes(8))).by_subject("x") is None
