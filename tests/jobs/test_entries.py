"""A log kept by hand: new entries, values set, and everything that lint finds."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import tables
from helpers.checkpoints import about, name, record
from helpers.commands import DaScore, one_line
from helpers.places import Place

from scoring.log.parse import parse_iteration_record


class TestNew:
    def test_is_filled_with_what_git_knows(
        self, place: Place, da_score: DaScore
    ) -> None:
        place.repo.commit({"a": "1\n"}, "Begin")
        place.repo.branch("ABC-3-parser")
        sha = place.repo.commit({"a": "1\n2\n", "b": "3\n"}, "Add a parser")
        assert (
            da_score("entry", "new", "4").out
            == "Wrote .agents/active/iteration-log/iter-4.yaml\n"
        )
        path = place.log / "iter-4.yaml"
        assert yaml.safe_load(path.read_text()) == {
            "schema_version": 2,
            "iteration": 4,
            "date": "2026-04-12",
            "task_id": "ABC-3",
            "commit": sha,
            "files_changed": 2,
            "lines_added": 2,
            "lines_removed": 0,
            "branch": "ABC-3-parser",
            "impl": {"summary": "Add a parser"},
        }
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        linted = da_score("lint", "--no-cache")
        assert (linted.out, linted.err) == ("1 entry: nothing is wrong\n", "")
        assert all(len(line) <= 120 for line in path.read_text().splitlines())

    def test_lint_goes_by_number(self, place: Place, da_score: DaScore) -> None:
        for number in (10, 2, 1):
            (place.log / f"iter-{number}.yaml").write_text("[\n")
        names = [
            line.partition(":")[0]
            for line in da_score("lint", "--no-cache").out.splitlines()
        ]
        assert [Path(name).stem for name in names[:3]] == [
            "iter-1",
            "iter-2",
            "iter-10",
        ]

    def test_what_is_commented_out_is_an_entry_too(
        self, place: Place, da_score: DaScore
    ) -> None:
        place.repo.commit({"a": "1\n"}, "Begin")
        da_score("entry", "new", "1")
        path = place.log / "iter-1.yaml"
        lines = path.read_text().splitlines()
        whole = [
            line.replace("# ", "", 1)
            if ":" in line.partition("  # ")[0] and _is_key(line)
            else line
            for line in lines
        ]
        path.write_text("\n".join(whole) + "\n")
        entry = yaml.safe_load(path.read_text())
        assert {
            "agent",
            "session_tokens",
            "impl",
            "verifiers",
            "review",
            "wave",
        } <= set(entry)
        assert "unknown key" not in da_score("lint").out
        parse_iteration_record(path.read_bytes())

    def test_of_a_commit_that_another_entry_names_is_warned_of(
        self, place: Place, da_score: DaScore
    ) -> None:
        sha = place.iteration(1)
        found = da_score("entry", "new")
        assert (found.status, found.err.count("\n")) == (0, 1)
        assert f"commit {sha[:12]} is named by iteration 1 as well" in found.err
        assert "# 2.\n" not in (place.log / "iter-2.yaml").read_text()
        place.repo.commit({"b": "1"}, "second")
        assert da_score("entry", "new").err == ""

    def test_takes_the_next_number_and_a_commit_that_is_named(
        self, place: Place, da_score: DaScore
    ) -> None:
        place.iteration(1)
        first = place.repo.commit({"a": "1"}, "first")
        place.repo.commit({"b": "1"}, "second")
        assert (
            da_score("entry", "new", "--commit", "HEAD~1", "--json")
            .json["path"]
            .endswith("iter-2.yaml")
        )
        assert (
            yaml.safe_load((place.log / "iter-2.yaml").read_text())["commit"] == first
        )

    @pytest.mark.parametrize(
        ("files", "written"),
        [
            pytest.param({}, "iter-1.yaml", id="the first entry"),
            pytest.param(
                {"historical.yaml": "iterations:\n- iteration: 8\n"},
                "iter-9.yaml",
                id="after those of the archive",
            ),
            pytest.param(
                {"iter-5.human-labels.yaml": ""}, "iter-6.yaml", id="after a label"
            ),
            pytest.param({"notes-7.yaml": ""}, "iter-1.yaml", id="another file"),
        ],
    )
    def test_the_next_number_is_one_that_no_file_of_the_log_has(
        self, place: Place, da_score: DaScore, files: dict[str, str], written: str
    ) -> None:
        for name_of_file, text in files.items():
            (place.log / name_of_file).write_text(text)
        place.repo.commit({"a": "1"}, "first")
        assert da_score("entry", "new", "--json").json["path"].endswith(written)

    def test_replaces_no_entry(self, place: Place, da_score: DaScore) -> None:
        place.iteration(1)
        (place.log / "iter-1.yaml").rename(place.log / "iter-9.yaml")
        before = (place.log / "iter-9.yaml").read_bytes()
        assert "iteration 1 has an entry already" in one_line(
            da_score("entry", "new", "1")
        )
        assert [path.name for path in place.log.iterdir()] == ["iter-9.yaml"]
        assert (place.log / "iter-9.yaml").read_bytes() == before

    def test_leaves_the_numbers_of_the_archive_alone(
        self, place: Place, da_score: DaScore
    ) -> None:
        place.repo.commit({"a": "1"}, "first")
        (place.log / "historical.yaml").write_text("iterations:\n- iteration: 8\n")
        assert "historical.yaml: iteration 8 has an entry already" in one_line(
            da_score("entry", "new", "8")
        )
        assert [path.name for path in place.log.iterdir()] == ["historical.yaml"]
        assert da_score("entry", "new", "7").status == 0

    def test_works_in_a_repository_without_commits_unless_one_is_named(
        self, place: Place, da_score: DaScore
    ) -> None:
        assert "no commit" in one_line(
            da_score("entry", "new", "1", "--commit", "nowhere")
        )
        assert da_score("entry", "new", "1").status == 0
        assert yaml.safe_load((place.log / "iter-1.yaml").read_text())["iteration"] == 1


def _is_key(line: str) -> bool:
    """Whether a line of the template is a field that is commented out, and no sentence."""
    text = line.strip().removeprefix("# ").strip().removeprefix("- ")
    return (
        line.strip().startswith("# ")
        and text.partition(":")[0].replace("_", "").isalnum()
        and " " not in (text.partition(":")[0])
    )


ENTRY = """\
# An entry with comments.
schema_version: 2
iteration: 1   # the first
date: 2026-04-12
impl:
    summary: 'work'   # as it was
    # nothing was begun anew
    retries: 0
verifiers:
    -   type: unit
        status: pass     # passed
review: {overall_decision: accept}
"""

HEAD = "schema_version: 2\niteration: 1\n"


class TestSet:
    def entry(self, place: Place, text: str = ENTRY) -> Path:
        path = place.log / "iter-1.yaml"
        path.write_text(text)
        path.chmod(0o640)
        return path

    @pytest.mark.parametrize(
        ("way", "value", "said"), tables.cases("entries", "sets that and nothing else")
    )
    def test_sets_that_and_nothing_else(
        self, place: Place, da_score: DaScore, way: str, value: str, said: Any
    ) -> None:
        path = self.entry(place)
        before = yaml.safe_load(ENTRY)
        assert da_score("entry", "set", "1", way, value).status == 0
        after = found = yaml.safe_load(path.read_text())
        *outer, last = way.split(".")
        for part in outer:
            found = found[int(part) if part.isdigit() else part]
        assert found[int(last) if last.isdigit() else last] == said
        text = path.read_text()
        assert all(
            comment in text
            for comment in (
                "# An entry with",
                "# the first",
                "# as it was",
                "# nothing was",
            )
        )
        assert text.count("# ") == 5
        assert "date: 2026-04-12\n" in text
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert before["iteration"] == after["iteration"]
        assert len(set(text.splitlines()) - set(ENTRY.splitlines())) <= 2

    @pytest.mark.parametrize(
        ("way", "value", "said"), tables.cases("entries", "what does not fit")
    )
    def test_what_does_not_fit_is_one_line_and_writes_nothing(
        self, place: Place, da_score: DaScore, way: str, value: str, said: str
    ) -> None:
        path = self.entry(place)
        assert said in one_line(da_score("entry", "set", "1", way, value))
        assert path.read_text() == ENTRY
        assert "no entry for iteration 3" in one_line(
            da_score("entry", "set", "3", way, value)
        )

    @pytest.mark.parametrize(
        ("text", "old", "new"),
        tables.cases("entries", "changes the bytes of its field alone"),
    )
    @pytest.mark.parametrize(
        ("before", "end"),
        [("", "\n"), ("\ufeff", "\n"), ("\ufeff", "\r\n")],
        ids=["", "with a byte-order mark", "lines as on Windows"],
    )
    def test_changes_the_bytes_of_its_field_alone(
        self,
        place: Place,
        da_score: DaScore,
        before: str,
        end: str,
        text: str,
        old: str,
        new: str,
    ) -> None:
        path = self.entry(place)
        head = (
            # line ends of both kinds stay
            f"{before}schema_version: 2{end}iteration:   1 # one\n"
        )
        text, old, new = (part.replace("\n", end) for part in (text, old, new))
        path.write_bytes((head + text).encode())
        assert da_score("entry", "set", "1", "impl.retries", "3").status == 0
        assert path.read_bytes().decode() == head + text.replace(old, new)

    @pytest.mark.parametrize(
        ("text", "way", "value", "new"), tables.cases("entries", "writes this text")
    )
    def test_writes_this_text(
        self, place: Place, da_score: DaScore, text: str, way: str, value: str, new: str
    ) -> None:
        """Whatever the style of an entry, the rest of it stays, and comments stay in place."""
        path = self.entry(place, HEAD + text)
        assert da_score("entry", "set", "1", way, value).status == 0
        assert path.read_text() == HEAD + new

        state = path.stat()
        assert da_score("entry", "set", "1", way, value).status == 0
        assert (path.stat().st_mtime_ns, path.stat().st_ino) == (
            state.st_mtime_ns,
            state.st_ino,
        )

    @pytest.mark.parametrize(
        ("text", "way", "value", "said"),
        tables.cases("entries", "leaves the text as it is"),
    )
    def test_leaves_the_text_as_it_is(
        self,
        place: Place,
        da_score: DaScore,
        text: str,
        way: str,
        value: str,
        said: str,
    ) -> None:
        path = self.entry(place, HEAD + text)
        assert said in one_line(da_score("entry", "set", "1", way, value))
        assert path.read_text() == HEAD + text

    def test_an_index_may_have_more_digits_than_a_number(
        self, place: Place, da_score: DaScore
    ) -> None:
        self.entry(place)
        message = one_line(
            da_score("entry", "set", "1", f"verifiers.{'9' * 5000}.status", "pass")
        )
        assert "the next one is 1" in message

    def test_an_entry_without_a_version_is_for_a_person_to_mend(
        self, place: Place, da_score: DaScore
    ) -> None:
        self.entry(place, "iteration: 1\n")
        message = one_line(da_score("entry", "set", "1", "impl.retries", "3"))
        assert "schema_version is neither 1 nor 2; mend it by hand first" in message

    def test_a_comment_after_a_tab_is_for_a_person_to_edit(
        self, place: Place, da_score: DaScore
    ) -> None:
        text = "schema_version: 2\niteration: 1\nimpl:\n  retries: 0\t# tab\n"
        path = self.entry(place, text)
        message = one_line(da_score("entry", "set", "1", "impl.retries", "3"))
        assert message.endswith(
            "cannot be set without changing more; change it by hand"
        )
        assert path.read_text() == text

    def test_a_name_may_be_given_to_two_parts(
        self, place: Place, da_score: DaScore
    ) -> None:
        path = self.entry(place, HEAD + "commit: &a x\ndate: &a 2026-04-12\n")
        assert da_score("entry", "set", "1", "task_id", "t").status == 0
        assert (
            path.read_text()
            == HEAD + 'commit: &a x\ndate: &a 2026-04-12\ntask_id: "t"\n'
        )

    def test_parts_that_are_shared_are_not_changed(
        self, place: Place, da_score: DaScore
    ) -> None:
        text = (
            "schema_version: 2\niteration: 1\nverifiers:\n- &v {status: pass}\n- *v\n"
        )
        path = self.entry(place, text)
        assert "by aliases" in one_line(
            da_score("entry", "set", "1", "verifiers.0.retries", "2")
        )
        assert path.read_text() == text

    def test_a_list_that_ends_in_an_alias_gets_no_item(
        self, place: Place, da_score: DaScore
    ) -> None:
        text = (
            "v: &v {status: pass}\nschema_version: 2\niteration: 1\nverifiers:\n- *v\n"
        )
        path = self.entry(place, text)
        message = one_line(da_score("entry", "set", "1", "verifiers.1.status", "fail"))
        assert "cannot be set without changing more" in message
        assert path.read_text() == text


def lint(
    da_score: DaScore, *options: str
) -> tuple[int, list[tuple[str, str, int | None, str]]]:
    """What lint finds: level, file, line and text of each."""
    found = da_score("lint", "--json", "--no-cache", *options)
    rows = json.loads(found.out)["findings"]
    return found.status, [
        (row["level"], Path(row["path"]).name, row["line"], row["text"]) for row in rows
    ]


class TestLint:
    @pytest.mark.parametrize(
        "name", ["iter-1.labels.yaml", "iter-1.hook-outcomes.yaml", "iter-1.dr.json"]
    )
    @pytest.mark.parametrize("text", ["{", "{}"], ids=["broken", "empty"])
    def test_files_beside_an_entry_are_looked_at(
        self, place: Place, da_score: DaScore, name: str, text: str
    ) -> None:
        (place.log / "iter-1.yaml").write_text("schema_version: 2\niteration: 1\n")
        (place.log / name).write_text(text)
        status, rows = lint(da_score)
        if text == "{":
            assert (status, [row[:2] for row in rows]) == (1, [("error", name)])
        else:
            assert [row for row in rows if row[1] == "iter-1.yaml"] == []

    def test_everything_that_is_wrong_is_said_with_its_line(
        self, place: Place, da_score: DaScore
    ) -> None:
        sha = place.iteration(1)
        (place.log / "iter-2.yaml").write_text(
            f"schema_version: 2\niteration: 2\ncommit: {sha[:9]}\nretires: 1\n"
        )
        (place.log / "iter-3.yaml").write_text(
            "schema_version: 1\nsummary: x\niteration: 2\nretries: no\n"
        )
        (place.log / "iter-4.yaml").write_text("schema_version: 2\niteration: [\n")
        (place.log / "iter-5.yaml").write_text("schema_version: 9\niteration: 5\n")
        status, found = lint(da_score)
        assert status == 1
        assert [one[:3] for one in found] == [
            ("warning", "iter-1.yaml", 7),
            ("error", "iter-2.yaml", 3),
            ("error", "iter-2.yaml", 4),
            ("error", "iter-3.yaml", 4),
            ("error", "iter-4.yaml", 3),
            ("error", "iter-5.yaml", None),
        ]
        said = [one[3] for one in found]
        assert 'no transcript has the session "s"' in said[0]
        assert (
            f"commit {sha[:9]} is named by iteration 1 as well (iter-1.yaml)" in said[1]
        )
        assert "unknown key" in said[2]
        assert "whole number" in said[3]
        assert "schema_version 9 is not supported" in said[5]
        text = da_score("lint", "--no-cache")
        assert text.status == 1
        assert (
            f"{place.log.relative_to(place.path)}/iter-2.yaml:4: error: unknown key"
            in text.out
        )
        assert text.out.endswith("5 entries: 5 errors, 1 warning\n")
        quiet = da_score("lint", "--no-cache", "--quiet")
        assert quiet.out == text.out.partition("\n")[2]

    @pytest.mark.parametrize(
        ("schema", "text"),
        [
            (1, 'item: "one thing"\nscenario_tags: [clean-repo]\nfeedback_goal: ""\n'),
            (2, 'impl:\n  item: "one thing"\n  feedback_goal: "does it work?"\n'),
            (2, "agent:\n  harness_version: 2.1.148\n  entrypoint: cli\n"),
            (2, "session_tokens:\n  reasoning_tokens: 3\n  message_count: 4\n"),
            (2, "verifiers:\n- type: unit\n  scenario_tags:\n  - a\n"),
            (
                2,
                'review:\n  escalation_reason: ""\n  reviewer_notes: ~\n'
                "  verify_record_appended: false\n",
            ),
        ],
    )
    def test_keys_of_dot_agents_are_wrong_only_if_asked(
        self, place: Place, da_score: DaScore, schema: int, text: str
    ) -> None:
        entry = f"schema_version: {schema}\niteration: 1\n{text}"
        (place.log / "iter-1.yaml").write_text(entry)
        assert lint(da_score) == (0, [])
        status, found = lint(da_score, "--strict")
        assert status == 1
        assert all(
            "dot-agents writes it, da-score ignores it" in row[3] for row in found
        )

    def test_a_key_of_dot_agents_in_the_wrong_place_or_of_the_wrong_type_is_an_error(
        self, place: Place, da_score: DaScore
    ) -> None:
        (place.log / "iter-1.yaml").write_text(
            "schema_version: 2\niteration: 1\nitem: x\n"
            "review: {verify_record_appended: perhaps}\nimpl: {scenario_tags: []}\n"
        )
        status, found = lint(da_score)
        assert status == 1
        assert [row[2] for row in found] == [3, 4, 5]
        assert found[0][3].startswith('unknown key "item"')
        assert "true or false" in found[1][3]
        assert found[2][3].startswith('unknown key "impl.scenario_tags"')

    @pytest.mark.parametrize(
        ("commit", "is_commit"),
        [
            pytest.param("abcdef1", True, id="a commit that git does not know"),
            pytest.param("none", False, id="a word"),
            pytest.param("abcdef", False, id="too few digits to name a commit"),
        ],
    )
    def test_two_entries_of_one_commit(
        self, place: Place, da_score: DaScore, commit: str, is_commit: bool
    ) -> None:
        for number in (1, 2):
            text = f'schema_version: 2\niteration: {number}\ncommit: "{commit}"\n'
            (place.log / f"iter-{number}.yaml").write_text(text)
        status, found = lint(da_score)
        assert status == is_commit
        assert [row[1] for row in found] == (["iter-2.yaml"] if is_commit else [])

    def test_two_files_of_one_iteration(self, place: Place, da_score: DaScore) -> None:
        (place.log / "iter-1.yaml").write_text("schema_version: 1\niteration: 1\n")
        (place.log / "iter-01.yaml").write_text("schema_version: 1\niteration: 1\n")
        status, found = lint(da_score)
        assert status == 1
        assert [(level, file, line) for level, file, line, _ in found] == [
            ("error", "iter-1.yaml", 2)
        ]
        assert "iter-01.yaml as well" in found[0][3]

    @pytest.mark.parametrize(
        ("name", "is_like_an_entry"),
        [
            ("iter-1.yml", True),
            ("Iter-1.YAML", True),
            ("iter-1.labels.yaml", False),
            ("notes.yml", False),
        ],
    )
    def test_a_file_with_a_name_that_is_only_like_that_of_an_entry(
        self, place: Place, da_score: DaScore, name: str, is_like_an_entry: bool
    ) -> None:
        (place.log / name).write_text("schema_version: 1\niteration: 1\n")
        status, found = lint(da_score)
        expected = [("warning", name)] if is_like_an_entry else []
        assert (status, [row[:2] for row in found]) == (0, expected)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(
                "schema_version: 2\niteration: 2\nimpl: {tests_total_pass: true}\n",
                id="a key nobody reads",
            ),
            pytest.param(
                "schema_version: 1\niteration: 7\n", id="a file of another number"
            ),
            pytest.param(
                "schema_version: 2\niteration: 2\nagent: {session_id: gone}\n",
                id="a session that is gone",
            ),
        ],
    )
    def test_a_warning_is_no_error(
        self, place: Place, da_score: DaScore, text: str
    ) -> None:
        (place.log / "iter-2.yaml").write_text(text)
        status, found = lint(da_score)
        assert (status, [one[0] for one in found]) == (0, ["warning"])

    def test_sessions_are_known_by_checkpoints_and_not_looked_at_without_transcripts(
        self, place: Place, da_score: DaScore
    ) -> None:
        place.iteration(1)
        assert lint(da_score, "--transcripts", "none") == (0, [])
        record(place.repo, {name(1): {"0/metadata.json": about("s")}})
        assert lint(da_score) == (0, [])

    def test_archived_entries_are_looked_at_too(
        self, place: Place, da_score: DaScore
    ) -> None:
        sha = place.iteration(2)
        (place.log / "historical.yaml").write_text(
            f"iterations:\n- iteration: 1\n  commit: {sha}\n  retires: 2\n"
        )
        status, found = lint(da_score, "--transcripts", "none")
        assert status == 1
        assert [one[:3] for one in found] == [
            ("error", "historical.yaml", 3),
            ("error", "historical.yaml", 4),
        ]

    def test_no_log_is_one_line_and_control_characters_are_shown_escaped(
        self, place: Place, da_score: DaScore
    ) -> None:
        assert "name the iteration log" in one_line(
            da_score("lint", "--iter-log-dir", "nowhere")
        )
        (place.log / "iter-1.yaml").write_text(
            'schema_version: 1\niteration: 1\n"\\e[31mx": 1\n'
        )
        assert "\x1b" not in da_score("lint", "--no-cache").out

    def test_where_git_knows_no_commit_names_are_compared(
        self, place: Place, da_score: DaScore
    ) -> None:
        for n, commit in (
            (1, "abcdef1234567890"),
            (2, "abcdef1234"),
            (3, "abcdef1999"),
            (4, ""),
            (5, ""),
        ):
            (place.log / f"iter-{n}.yaml").write_text(
                f"schema_version: 1\niteration: {n}\ncommit: '{commit}'\n"
            )
        _, found = lint(da_score)
        assert [(file, line) for _, file, line, _ in found] == [("iter-2.yaml", 3)]
