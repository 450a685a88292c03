"""Which messages say that they take work back, and what they name."""

from pathlib import Path

import pytest
from helpers.doors import ends
from helpers.landings import record, started
from helpers.repos import START, Repo

from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.commit_names import names_taken_back, requests_done_again
from scoring.signals.landed import landed_value

SHA = "0123456789abcdef0123456789abcdef01234567"
SHORT = SHA[:7]

REVERTS = {
    "gits-own-words": f'Revert "one"\n\nThis reverts commit {SHA}.\n',
    "of-a-merge": (
        f'Revert "Merge x"\n\nThis reverts commit {SHA}, reversing\n'
        "changes made to fedcba9876543210.\n"
    ),
    "capitals": f"REVERTED {SHORT.upper()}",
    "sha-before-the-word": f"{SHORT} is reverted",
    "forty-characters-between": f"revert{'.' * 40}{SHORT}",
    "forty-characters-between-behind": f"{SHORT}{' ' * 40}reverted",
    "second-of-two": f"Reverts fedcba9 and {SHORT}",
    "not-in-another-clause": f"This did not work, so this reverts {SHORT}",
    "not-in-the-sentence-before": f"It was never needed. Revert {SHORT}",
    "not-behind-the-word": f"reverts {SHORT}, which did not work",
    "word-that-ends-in-not": f"knot: reverts {SHORT}",
    "denied-for-another": f"does not revert fedcba9, and reverts {SHORT}",
    "another-form-of-the-word": f"reverting {SHORT}",
    "carriage-return": f"revert {SHORT}\r\n",
    "in-a-word-with-marks": f"revert-{SHORT}",
}
NONE = {
    "not-a-revert-of": f"not a revert of {SHA}",
    "does-not": f"This does not revert {SHORT}",
    "dont": f"don't revert {SHORT}",
    "never": f"{SHORT} was never reverted",
    "cannot": f"we cannot revert {SHORT}",
    "denied-with-the-sha-first": f"{SHORT} is not reverted",
    "another-verb": f"replacing {SHORT}",
    "word-inside-a-word": f"irrevertible {SHORT}",
    "over-two-lines": f"revert\n{SHORT}",
    "forty-one-characters-between": f"revert{'.' * 41}{SHORT}",
    "forty-one-characters-between-behind": f"{SHORT}{' ' * 41}reverted",
    "inside-a-word": f"revert x{SHORT}y",
    "inside-a-longer-number": f"revert {SHORT}z",
    "no-sha": 'Revert "one"',
    "what-a-revert-went-back-to": f"reverts fedcba9, reversing changes made to it by {SHORT}",
    "a-part-of-it": f"Partially reverts {SHORT}",
    "some-of-it": f"revert some of {SHORT}",
}


class TestMessages:
    @pytest.mark.parametrize("name", REVERTS)
    def test_that_revert(self, name: str) -> None:
        assert any(SHA.startswith(sha) for sha in names_taken_back(REVERTS[name]).shas)

    @pytest.mark.parametrize("name", NONE)
    def test_that_do_not(self, name: str) -> None:
        assert not any(SHA.startswith(sha) for sha in names_taken_back(NONE[name]).shas)

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize(
        "message",
        [
            pytest.param("revert " * 200_000, id="many-words"),
            pytest.param(f"revert {SHORT} " * 60_000, id="many-of-both"),
            pytest.param("not " * 300_000 + f"revert {SHORT}", id="many-denials"),
            pytest.param("a" * 2_000_000 + " revert", id="one-long-run"),
            pytest.param("n't" * 300_000 + f" revert {SHORT}", id="many-short-denials"),
        ],
    )
    def test_of_any_length_are_read_in_time(self, message: str) -> None:
        ends(lambda: names_taken_back(message))


def landed(repo: Repo, sha: str) -> float:
    entry = record(1, sha)
    value = landed_value(AttributedHistory(repo.path, [entry]).landing(entry))
    assert value.present
    return value.sub_score


class TestOnATrunk:
    def test_each_revert_turns_the_answer(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        sha = last = repo.commit({"x": "1\n"}, "work")
        for n in range(5):
            assert landed(repo, sha) == (n + 1) % 2
            last = repo.revert(last)

    def test_of_one_on_another_branch_do_not_count(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        sha = repo.commit({"x": "1\n"}, "work")
        repo.branch("side")
        repo.revert(sha)
        repo.checkout("master")
        assert landed(repo, sha) == 1

    def test_count_whatever_the_clock_says(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        sha = repo.commit({"x": "1\n"}, "work", START + 9_000)
        repo.commit({"x": None}, f"This reverts commit {sha}.", START + 1)
        assert landed(repo, sha) == 0


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        ("Reland of #12", {12}),
        ("Redo #12, and the redo of !13", {12, 13}),
        ("Re-lands the PR #12", {12}),
        ("feat: a\n\nSecond attempt at #12", {12}),
        ("same design as https://x.org/a/b/pull/12", {12}),
        ("same design as in #12", set()),
        ("feat: re-land the bar (rebased from #12) (#19)", {12}),
        ("feat: rebase the bar from #12 (#19)", set()),
        ('Revert "Reland of #12"', set()),
        ('Revert "Add it"\n\n> Reland of #12', set()),
        ('Revert "Revert "Add it""\n\nReland of #12', {12}),
        ("Redo the stack of 12 items", set()),
        ("Like #12", set()),
        ("This is not the second #12", set()),
    ],
)
def test_requests_that_a_message_says_it_does_again(
    message: str, numbers: set[int]
) -> None:
    assert requests_done_again(message) == numbers
