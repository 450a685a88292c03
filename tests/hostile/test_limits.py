"""What is small on disk and large in memory or time, such as compressed transcripts."""

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line
from helpers.harness_lines import as_bytes, read, response, use
from helpers.repos import Repo
from helpers.timing import seconds_of, too_slow

from rubric import load_rubric
from scoring.errors import DaScoreError, SettingsError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import Git
from scoring.evidence.harnesses import json_reader
from scoring.evidence.transcripts import opening
from scoring.log.settings import resolve_settings
from scoring.meters.plaindata import read_config

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

KEPT = as_bytes([response(1)])


def warnings_of(folder: Path) -> list[str]:
    """Read a transcript, and one beside it that is well; return what was warned of."""
    (folder / "well.jsonl").write_bytes(KEPT)
    found: list[str] = []
    facts, _ = read(folder, warn=found.append)
    assert facts[0].turns == 1, "the transcript that is well was not read"
    return found


class TestCompressed:
    def test_what_gets_far_too_long_is_left_out_by_name(self, tmp_path: Path) -> None:
        path = tmp_path / "bomb.jsonl.zst"
        path.write_bytes(zstd.compress(b'{"a": 1}' * (64 << 17)))
        assert path.stat().st_size < 100_000
        (warning,) = warnings_of(tmp_path)
        assert (
            warning
            == f"transcript {path}: more than 500 times as long when it is decompressed; skipped"
        )

    def test_what_repeats_itself_much_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(opening, "FREE", 0)
        many = as_bytes(response(n, f"msg_{n}", f"req_{n}") for n in range(2000))
        path = tmp_path / "long.jsonl.zst"
        path.write_bytes(zstd.compress(many, 19))
        assert 10 < len(many) / path.stat().st_size < opening.EXPANSION
        facts, _ = read(tmp_path, warn=pytest.fail)
        assert facts[0].turns == 2000

    @pytest.mark.parametrize(
        "frame",
        [zstd.compress(b""), zstd.compress(b" "), b"\x50\x2a\x4d\x18\x00\x00\x00\x00"],
        ids=["of nothing", "of a blank", "to be skipped"],
    )
    def test_one_of_very_many_frames_is_left_out_by_name(
        self, tmp_path: Path, frame: bytes
    ) -> None:
        path = tmp_path / "frames.jsonl.zst"
        path.write_bytes(frame * 200_000)
        (warning,) = warnings_of(tmp_path)
        assert warning == f"transcript {path}: more than 10,000 zstd frames; skipped"

    def test_one_of_many_frames_is_read(self, tmp_path: Path) -> None:
        lines_of = [as_bytes([response(n, f"m{n}", f"r{n}")]) for n in range(500)]
        (tmp_path / "a.jsonl.zst").write_bytes(b"".join(map(zstd.compress, lines_of)))
        facts, _ = read(tmp_path, warn=pytest.fail)
        assert facts[0].turns == 500

    def test_a_small_one_may_be_of_one_letter(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl.zst").write_bytes(
            zstd.compress(
                b" " * 1_000_000 + b"\n" + as_bytes([response(1, "m2", "r2")])
            )
        )
        facts, _ = read(tmp_path, warn=pytest.fail)
        assert facts[0].turns == 1


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst"])
def test_a_transcript_of_too_many_lines_is_left_out_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(json_reader, "MOST_LINES", 1000)
    data = b"{}\n" * 1001
    (tmp_path / name).write_bytes(zstd.compress(data) if name.endswith("zst") else data)
    assert warnings_of(tmp_path) == [
        f"transcript {tmp_path / name}: more than 1,000 lines; skipped"
    ]
    monkeypatch.setattr(json_reader, "MOST_LINES", 1001)
    assert warnings_of(tmp_path) == []


DOTTED = {
    "a key of dots": "a." * 100_000 + "a = 1",
    "dots alone": "." * 200_000,
    "a table of dots": "[" + "a." * 20_000 + "a]",
    "a key with dots between strange line ends": '"\u2028".' * 5_000 + "a = 1",
}


class TestSettings:
    @pytest.mark.parametrize("text", DOTTED.values(), ids=DOTTED)
    @pytest.mark.parametrize("name", [".agents/da-score.toml", "pyproject.toml"])
    def test_of_dots_are_refused_at_once(
        self, tmp_path: Path, text: str, name: str
    ) -> None:
        (tmp_path / ".agents").mkdir()
        (tmp_path / name).write_text(f"# da-score\n{text}\n", "utf-8")
        with pytest.raises(
            SettingsError,
            match=rf"{name}: not TOML: (larger than 128 KiB|line \d+: more than 1000 dots)",
        ):
            resolve_settings({"repo-dir": str(tmp_path)}, {})

    def test_of_many_lines_with_dots_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text(
            "[tool.da-score]\nhorizon = '7d'\n[tool.x]\n"
            + "".join(f"a.b{n} = 'v1.2.3'\n" for n in range(5000)),
            "utf-8",
        )
        assert resolve_settings({"repo-dir": str(tmp_path)}, {}).horizon == "7d"

    def test_a_large_file_that_does_not_speak_of_da_score_is_no_matter(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "pyproject.toml").write_text("#" * 1_000_000)
        assert resolve_settings({"repo-dir": str(tmp_path)}, {}).horizon == "14d"

    @pytest.mark.parametrize("name", ["a.toml", "a.json", "a.yaml", "rubric.yaml"])
    def test_a_config_or_rubric_that_is_too_large_is_refused(
        self, tmp_path: Path, name: str
    ) -> None:
        (tmp_path / name).write_text("." * 200_000)
        with pytest.raises(DaScoreError, match="larger than 128 KiB"):
            (load_rubric if name == "rubric.yaml" else read_config)(tmp_path / name)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("sql", [";", " ;; ", "-- nothing", "/* nothing */"])
def test_a_query_without_a_statement_is_refused(da_score: DaScore, sql: str) -> None:
    assert "query: there is no statement in it" in one_line(
        da_score("query", "--", sql)
    )


def test_all_searches_for_commits_share_one_limit_of_time(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a": "b"})
    opened = GitRepository(repo.path)
    command_of = Git._command

    started = []

    def slowly(git: Git, arguments: Iterable[str]) -> list[str]:
        started.append(arguments)
        return ["sh", "-c", 'sleep 0.2; exec "$0" "$@"', *command_of(git, arguments)]

    monkeypatch.setattr(Git, "_command", slowly)
    monkeypatch.setattr("scoring.evidence.git.repository.SEARCH_TIMEOUT", 1)
    # git gives up at each
    names = [f"branch-{number}@{{upstream}}" for number in range(50)]

    assert set(opened.resolve(names, searches=True).values()) == {None}
    assert 1 < len(started) < 10


PARTS = {
    "commits in folders": "git -C d{} commit -m 'm {}'",
    "resets": "git reset --soft HEAD~{}",
    "folders": "cd d{}",
    "tests": "pytest tests/test_{}.py",
    "files": "echo {} > out/{}.txt",
    "interpreters": 'python -c \'open("f{}", "w")\'',
    "shells": "bash -c 'pytest a{}; cp a b{}'",
}
LONG = 480


def seconds_to_read(folder: Path, part: str, count: int) -> float:
    """Return the processor time for a transcript with commands of some parts each."""
    line = "; ".join(part.replace("{}", str(number)) for number in range(count))
    calls = []
    for number in range(LONG // count):
        call = use("Bash", command=f"{line} # {number}")
        calls.append(response(number + 1, f"m{number}", f"r{number}", call))
    (folder / "a.jsonl").write_bytes(as_bytes(calls))

    def work() -> None:
        facts, _ = read(folder, warn=pytest.fail)
        assert facts[0].turns == len(calls)

    return seconds_of(work)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_one_command_of_many_parts_costs_little_more_than_many_short_ones(
    tmp_path: Path, part: str
) -> None:
    seconds_to_read(tmp_path, part, LONG)
    assert not too_slow(
        lambda: seconds_to_read(tmp_path, part, LONG),
        lambda: seconds_to_read(tmp_path, part, 40),
        times=3,
        spare=0.1,
        rounds=1,
    )
