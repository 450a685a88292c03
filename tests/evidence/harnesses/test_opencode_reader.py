"""OpenCode and Kilo: what a session says, whether it is in a database, in files or in an export."""

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.checkpoints import about, name, record
from helpers.commands import DaScore
from helpers.harness_lines import START, Line
from helpers.places import Place
from helpers.repos import START as COMMITTED
from helpers.repos import STEP
from helpers.sessions import events_of, put, read_under, seen
from helpers.story import FOLDER, FOUND, IN_PARTS, STORY, Step, damaged, read_anyhow

from scoring.evidence.harnesses.discovery import discover
from scoring.evidence.harnesses.opencode import Kilo, OpenCode
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.harnesses.reading import Reading
from scoring.evidence.transcripts.edits import lines_added
from scoring.evidence.transcripts.events import Compaction, LinesWritten
from scoring.evidence.transcripts.facts import TranscriptPlaces
from scoring.evidence.transcripts.transcript_events import TranscriptEvents
from scoring.evidence.transcripts.transcript_files import TranscriptFile

DATA = Path(".local/share/opencode")
TOOLS = {
    "read": "read",
    "edit": "edit",
    "write": "write",
    "run": "bash",
    "refused": "bash",
}
REJECTED = "The user rejected permission to use this specific tool call."


def ms(second: float) -> int:
    return int((START + second) * 1000)


def asked(
    second: float, *texts: str, synthetic: bool = False, kind: str = "text"
) -> Line:
    parts = [{"type": kind, "text": text, "synthetic": synthetic} for text in texts]
    return {
        "info": {
            "id": f"msg_u{second}",
            "role": "user",
            "time": {"created": ms(second)},
        },
        "parts": parts,
    }


def answered(second: float, *parts: Line, tokens: Any = None, **keys: Any) -> Line:
    info = {
        "id": f"msg_a{second}",
        "role": "assistant",
        "modelID": "m",
        "path": {"cwd": FOLDER},
        "tokens": tokens,
    }
    return {
        "info": info
        | {"time": {"created": ms(second), "completed": ms(second + 2)}}
        | keys,
        "parts": list(parts),
    }


def call(
    tool: str,
    second: float = 1,
    status: str = "completed",
    call_id: str = "c1",
    **state: Any,
) -> Line:
    times = {"start": ms(second), "end": ms(second + 2)}
    return {
        "type": "tool",
        "tool": tool,
        "callID": call_id,
        "state": {"status": status, "time": times} | state,
    }


def bash(
    command: str, code: int | None = 0, output: str = "", second: float = 1
) -> Line:
    return call(
        "bash",
        second,
        input={"command": command},
        output=output,
        metadata={"exit": code},
    )


def counted(
    output: int,
    given: int,
    reads: int,
    writes: int,
    reasoning: int = 0,
    total: int | None = None,
) -> Line:
    cache = {"read": reads, "write": writes}
    found: Line = {
        "input": given,
        "output": output,
        "reasoning": reasoning,
        "cache": cache,
    }
    return found if total is None else found | {"total": total}


def written(step: Step) -> Line:
    """A step with reasoning beside output, as its total shows."""
    if step.what == "prompt":
        return asked(step.second, step.text) | {
            "parts": [
                {"type": "text", "text": step.text},
                {"type": "text", "text": "Wrong!", "synthetic": True},
            ]
        }
    if step.what == "stop":
        return answered(
            step.second,
            error={"name": "MessageAbortedError"},
            tokens=counted(0, 0, 0, 0),
        )
    output, *given = step.tokens
    fresh, reads, writes = given
    tokens = counted(output - 5, fresh, reads, writes, 5, output + sum(given))
    if step.what == "say":
        return answered(step.second, {"type": "text", "text": step.text}, tokens=tokens)
    asks: Line = (
        {"command": step.text}
        if "r" in step.what[:1] and step.what != "read"
        else {"filePath": step.text}
    )
    asks |= (
        {"content": "x"}
        if step.what == "write"
        else {"oldString": "a", "newString": "b"}
    )
    state: Line = {
        "status": "completed",
        "output": step.said,
        "metadata": {"exit": step.code},
    }
    if step.what == "refused" or (step.code and step.what != "run"):
        state = {
            "status": "error",
            "error": REJECTED if step.what == "refused" else step.said,
        }
    part = call(TOOLS[step.what], step.second, call_id=step.call, input=asks, **state)
    return answered(step.second, {"type": "step-start"}, part, tokens=tokens)


MESSAGES = [written(step) for step in STORY]


def document(*messages: Any, **info: Any) -> Line:
    head = {
        "id": "ses_1",
        "directory": FOLDER,
        "version": "1.14.3",
        "time": {"created": ms(0)},
    }
    return {"info": head | info, "messages": list(messages)}


def export(tmp_path: Path, *messages: Any, **info: Any) -> TranscriptEvents:
    return events_of(
        put(tmp_path / "ses_1.json", document(*messages, **info), document=True),
        "opencode",
    )


def database(path: Path, *sessions: Line, close: bool = True) -> sqlite3.Connection:
    """Write sessions into a database that keeps a log, as the harness does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = sqlite3.connect(path, isolation_level=None)
    found.execute("PRAGMA journal_mode = wal")
    found.execute(
        "CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text,"
        " version text, revert text, time_created integer)"
    )
    found.execute(
        "CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,"
        " data text)"
    )
    found.execute(
        "CREATE TABLE part (id text, message_id text, session_id text, time_created integer,"
        " data text)"
    )
    for session in sessions:
        add(found, session)
    if close:
        found.close()
    return found


def add(found: sqlite3.Connection, session: Line) -> None:
    info = session["info"]
    own = info["id"]
    head = (
        own,
        info.get("parentID"),
        info["directory"],
        info["version"],
        json.dumps(info.get("revert")),
        ms(0),
    )
    found.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", head)
    for number, message in enumerate(session["messages"]):
        said, mid = (
            {key: value for key, value in message["info"].items() if key != "id"},
            f"{own}_m{number:03}",
        )
        found.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?)",
            (mid, own, said["time"]["created"], json.dumps(said)),
        )
        for place, part in enumerate(message["parts"]):
            row = (f"{mid}_p{place}", mid, own, 0, json.dumps(part))
            found.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)


def files(storage: Path, session: Line, old: bool = False) -> Path:
    """Write a session as versions before 1.2 do: one file a message and a part.

    Versions up to 0.5 have other folders.
    """
    top, own = storage / "session" if old else storage, session["info"]["id"]
    for number, message in enumerate(session["messages"]):
        mid = f"msg_{number:03}"
        put(top / "message" / own / f"{mid}.json", message["info"], document=True)
        for place, part in enumerate(message["parts"]):
            below = Path(own, mid) if old else Path(mid)
            put(top / "part" / below / f"prt_{place}.json", part, document=True)
    return put(
        storage / "session" / ("info" if old else "p1") / f"{own}.json",
        session["info"],
        document=True,
    )


def warned(path: Path) -> list[str]:
    warnings: list[str] = []
    found = discover(
        TranscriptPlaces(Path("/nowhere"), (path.parent,)), HARNESSES, warnings.append
    )
    (one,) = found.transcripts
    return [*warnings, *Reading(HARNESSES).read(one).warnings]


class TestSession:
    @pytest.mark.parametrize(
        "form", ["export", "database", "kilo", "files", "old-files"]
    )
    def test_says_what_happened_in_every_form(self, tmp_path: Path, form: str) -> None:
        data, session = tmp_path / DATA, document(*MESSAGES)
        kilo = data.parent / "kilo/kilo.db"
        if form in ("database", "kilo"):
            database(
                path := kilo if form == "kilo" else data / "opencode-dev.db", session
            )
        elif form == "export":
            path = put(tmp_path / "ses_1.json", session, document=True)
        else:
            old = form == "old-files"
            path = files(
                data / ("project/app/storage" if old else "storage"), session, old
            )
        events = events_of(path, "kilo" if form == "kilo" else "opencode")
        assert seen(events) == FOUND
        assert {(span.cwd, span.session, span.agent) for span in events.spans} == {
            (FOLDER, "ses_1", False)
        }
        assert {span.model for span in events.spans} == {"", "m"}

    def test_has_the_same_keys_in_every_form_and_in_a_fork(
        self, tmp_path: Path
    ) -> None:
        forked = json.loads(
            json.dumps(document(*MESSAGES, id="ses_2", title="Work (fork #1)")).replace(
                "msg_", "msg_f"
            )
        )
        database(tmp_path / DATA / "opencode.db", document(*MESSAGES), forked)
        path = files(tmp_path / DATA / "storage", document(*MESSAGES))
        read = read_under(tmp_path / DATA)
        keys = [
            [line.key for line in found["opencode"].lines] for found in read.values()
        ]
        assert len(keys) == 2 and {len(one) for one in keys} == {23, 46}
        assert len({key for one in keys for key in one}) == 23
        assert path in read

    def test_has_no_key_that_depends_on_ids(self, tmp_path: Path) -> None:
        hidden = json.loads(
            json.dumps(MESSAGES)
            .replace("call_3", "REDACTED")
            .replace("msg_a6", "REDACTED")
        )
        (tmp_path / "b").mkdir()
        plain, other = (
            export(tmp_path / "a", *MESSAGES),
            export(tmp_path / "b", *hidden),
        )
        assert plain.lines == other.lines
        assert plain.lists == other.lists

    def test_of_a_parent_is_a_subagents(self, tmp_path: Path) -> None:
        child = document(*MESSAGES, id="ses_2", parentID="ses_1")
        database(tmp_path / DATA / "opencode.db", document(asked(0, "x")), child)
        events = events_of(tmp_path / DATA / "opencode.db", "opencode").by_session()
        assert [
            {(span.parent, span.agent) for span in one.spans} for one in events
        ] == [
            {("", False)},
            {("ses_1", True)},
        ]
        found = seen(events[1])
        assert "corrections" not in found
        assert found["breaks"] == FOUND["breaks"][:1]

    @pytest.mark.parametrize(
        ("tokens", "output"),
        [
            (counted(9, 5, 3, 1, reasoning=4, total=18), 9),
            (counted(9, 5, 3, 1, reasoning=4, total=22), 13),
            (counted(9, 5, 3, 1, reasoning=4), 9),
        ],
        ids=["inside", "beside", "not-stated"],
    )
    def test_has_reasoning_inside_output_or_beside_it(
        self, tmp_path: Path, tokens: Line, output: int
    ) -> None:
        assert seen(export(tmp_path, answered(1, tokens=tokens)))["tokens"] == (
            output,
            5,
            3,
            1,
        )

    def test_counts_the_steps_of_a_response_where_there_are_several(
        self, tmp_path: Path
    ) -> None:
        steps = [{"type": "step-finish", "tokens": counted(n, n, n, n)} for n in (1, 2)]
        found = seen(export(tmp_path, answered(1, *steps, tokens=steps[-1]["tokens"])))
        assert (found["responses"], found["tokens"]) == (2, (3, 3, 3, 3))


class TestCall:
    @pytest.mark.parametrize(
        ("part", "failed"),
        [
            (bash("ls", 0), [0]),
            (bash("ls", 2), [1]),
            (bash("ls", None), []),
            (call("invalid", output="no such tool"), [1]),
            (call("read", output="x"), [0]),
            (call("read", status="error", error="x"), [1]),
            (call("read", status="error", error="Tool execution aborted"), []),
            (call("read", status="running"), []),
            (call("read", status="error", error=REJECTED), []),
        ],
        ids=[
            "exit-0",
            "exit-2",
            "timeout",
            "invalid",
            "done",
            "error",
            "aborted",
            "running",
            "refused",
        ],
    )
    def test_has_failed_by_its_exit_status_or_its_state(
        self, tmp_path: Path, part: Line, failed: list[int]
    ) -> None:
        assert seen(export(tmp_path, answered(1, part))).get("failed", []) == failed

    def test_that_the_user_ran_is_none_of_the_agent(self, tmp_path: Path) -> None:
        own = asked(0, "The following tool was executed by the user", synthetic=True)
        assert seen(export(tmp_path, own, answered(1, bash("pytest", 1)))) == {}
        assert (
            seen(export(tmp_path, asked(0, "x"), answered(1, bash("ls", 1))))["calls"]
            == 1
        )

    def test_of_a_part_of_a_line_changes_the_whole_line(self, tmp_path: Path) -> None:
        texts = {"oldString": "one", "newString": "two"}
        diff = (
            "Index: a\n--- a\n+++ a\n@@ -1,2 +1,2 @@\n y = 1\n-x = one()\n+x = two()\n"
        )
        edit = call(
            "edit",
            input={"filePath": f"{FOLDER}/a.py", **texts},
            metadata={"diff": diff},
        )
        (written,) = export(tmp_path, answered(1, edit)).of(LinesWritten)
        assert written.hashes == lines_added("x = two()", "x = one()")

    def test_edits_files_with_a_patch_or_several_texts(self, tmp_path: Path) -> None:
        patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
        several = {
            "filePath": f"{FOLDER}/b.py",
            "edits": [{"oldString": "a", "newString": "b"}],
        }
        parts = (
            call("apply_patch", 1, input={"patchText": patch}),
            call("multiedit", 2, input=several),
        )
        assert seen(export(tmp_path, answered(1, *parts)))["edits"] == [
            f"{FOLDER}/a.py",
            f"{FOLDER}/b.py",
        ]


class TestPrompt:
    @pytest.mark.parametrize(
        ("message", "info", "corrections"),
        [
            (asked(9, "No, that is wrong"), {}, 1),
            (asked(9, "No, that is wrong", synthetic=True), {}, 0),
            (asked(9, "No, that is wrong", kind="subtask"), {}, 0),
            (asked(9, "No, that is wrong"), {"parentID": "ses_0"}, 0),
            (asked(9, "No, that is wrong"), {"revert": {"messageID": "msg_u9"}}, 0),
            (asked(9, "No, that is wrong"), {"revert": {"messageID": "msg_u10"}}, 1),
        ],
        ids=[
            "typed",
            "synthetic",
            "a-subtask",
            "of-a-sub-agent",
            "taken-back",
            "before-what-is-taken-back",
        ],
    )
    def test_is_what_a_person_typed(
        self, tmp_path: Path, message: Line, info: Line, corrections: int
    ) -> None:
        found = seen(export(tmp_path, answered(1, call("read")), message, **info))
        assert found.get("corrections", 0) == corrections

    def test_that_compacts_is_noted_once(self, tmp_path: Path) -> None:
        events = export(
            tmp_path,
            asked(1, "", kind="compaction"),
            answered(2, summary=True),
            answered(3),
        )
        assert len(events.of(Compaction)) == 1


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Have another program write to a database in the block."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = delete")
        writer.execute("BEGIN EXCLUSIVE")
        yield


class TestDatabase:
    @pytest.mark.parametrize(
        "copied", [False, True], ids=["in-use", "copied-without-its-index"]
    )
    def test_is_read_with_its_log_and_nothing_is_written(
        self, tmp_path: Path, copied: bool
    ) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(database(path, close=False)) as found:
            found.execute("PRAGMA wal_autocheckpoint = 0")
            add(found, document(*MESSAGES))
            if copied:
                (other := tmp_path / "copy/opencode.db").parent.mkdir()
                for end in ("", "-wal"):
                    shutil.copy(f"{path}{end}", f"{other}{end}")
                path = other
            before = self.written(path.parent)
            assert seen(events_of(path, "opencode")) == FOUND
            assert self.written(path.parent) == before

    def written(self, folder: Path) -> dict[str, bytes]:
        """The index is shared by processes with the database open: only its existence counts."""
        return {
            one.name: b"" if one.name.endswith("-shm") else one.read_bytes()
            for one in folder.iterdir()
        }

    def test_without_a_log_is_read_and_has_none_then(self, tmp_path: Path) -> None:
        path = tmp_path / DATA / "opencode.db"
        database(path, document(*MESSAGES))
        assert seen(events_of(path, "opencode")) == FOUND
        assert [one.name for one in path.parent.iterdir()] == ["opencode.db"]

    def test_that_is_locked_costs_one_message(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("scoring.evidence.harnesses.reading.LOCK_TIMEOUT", 0.0)
        path = tmp_path / DATA / "opencode.db"
        database(path, document(*MESSAGES))
        with locked(path):
            (warning,) = warned(path)
        assert warning.startswith(f"transcript {path}: ")
        assert "locked" in warning
        assert seen(events_of(path, "opencode")) == FOUND

    @pytest.mark.parametrize(
        ("is_first_locked", "waits"),
        [
            pytest.param(True, [0.01, 0.0], id="not after one that stays locked"),
            pytest.param(False, [0.01, 0.01], id="after one that is read"),
        ],
    )
    def test_is_waited_for(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        is_first_locked: bool,
        waits: list[float],
    ) -> None:
        monkeypatch.setattr("scoring.evidence.harnesses.reading.LOCK_TIMEOUT", 0.01)
        first, second = (tmp_path / name / "opencode.db" for name in "ab")
        database(first, document(*MESSAGES))
        database(second, document(*MESSAGES))

        asked: list[float] = []
        connect = sqlite3.connect

        def connecting(name: str, wait: float, **options: Any) -> Any:
            asked.append(wait)
            return connect(name, wait, **options)

        with locked(first) if is_first_locked else contextlib.nullcontext():
            monkeypatch.setattr(
                sqlite3,
                "connect",
                connecting,
            )
            reading = Reading(HARNESSES)
            texts = [
                text
                for path in (first, second)
                for text in reading.read(
                    TranscriptFile(str(path), True, "store")
                ).warnings
            ]
        assert asked == waits
        assert len(texts) == is_first_locked

    @pytest.mark.parametrize(
        "cut", [0, 50, 5000], ids=["empty", "in-its-head", "in-its-pages"]
    )
    def test_that_is_cut_short_costs_a_message_at_most(
        self, tmp_path: Path, cut: int
    ) -> None:
        path = tmp_path / DATA / "opencode.db"
        database(path, document(*MESSAGES))
        path.write_bytes(path.read_bytes()[:cut])
        assert len(warned(path)) <= 1

    def test_of_a_newer_version_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(
            database(path, document(asked(0, "x")), close=False)
        ) as found:
            found.execute("CREATE TABLE session_v2 (id text)")
            assert seen(events_of(path, "opencode")) == {}
            found.execute("INSERT INTO session_v2 VALUES ('s')")
            named = {"of a kind that is not known: table session_v2, version 1.14.3": 1}
            assert seen(events_of(path, "opencode"))["skipped"] == named
            found.execute("DROP TABLE session")
            assert "no such table: session" in "".join(warned(path))

    @pytest.mark.parametrize("table", ["session", "message", "part"])
    @pytest.mark.parametrize("kind", ["view", "computed column"])
    def test_reads_nothing_that_a_database_computes(
        self, tmp_path: Path, table: str, kind: str
    ) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(database(path, document(*MESSAGES), close=False)) as db:
            if kind == "view":
                db.execute(f"ALTER TABLE {table} RENAME TO hidden")
                db.execute(f"CREATE VIEW {table} AS SELECT * FROM hidden")
            else:
                db.execute(f"ALTER TABLE {table} ADD COLUMN more AS (id || id)")
            warnings = warned(path)
        if table == "session":
            assert warnings == []
        else:
            assert "no database that can be read (" in "".join(warnings)

    def test_may_have_a_virtual_table_of_a_module_that_is_missing(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(database(path, document(*MESSAGES), close=False)) as db:
            db.execute("PRAGMA writable_schema = 1")
            made = "CREATE VIRTUAL TABLE v USING vec0(a)"
            db.execute(
                "INSERT INTO sqlite_master VALUES ('table', 'v', 'v', 0, ?)", [made]
            )
            db.commit()
            assert seen(events_of(path, "opencode")) == FOUND

    def test_may_have_an_index_of_what_it_computes(self, tmp_path: Path) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(database(path, document(*MESSAGES), close=False)) as db:
            db.execute("CREATE INDEX x ON part (session_id, json_extract(data, '$.x'))")
            assert seen(events_of(path, "opencode")) == FOUND

    def test_of_many_sessions_without_an_index_costs_one_message(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(database(path, close=False)) as db:
            for number in range(6_000):
                name = str(number)
                db.execute(
                    "INSERT INTO session (id, time_created) VALUES (?, 0)", [name]
                )
                db.execute("INSERT INTO message VALUES (?, ?, 0, '{}')", [name, name])
            (warning,) = warned(path)
            assert "no database that can be read (interrupted)" in warning
            db.execute("CREATE INDEX x ON message (session_id)")
            db.execute("CREATE INDEX y ON part (message_id)")
            assert "interrupted" not in "".join(warned(path))

    def test_of_many_messages_without_an_index_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(database(path, close=False)) as db:
            db.execute("DROP TABLE message")
            db.execute("CREATE TABLE message (id, session_id, time_created, data)")
            db.execute("INSERT INTO session (id, time_created) VALUES ('s', 0)")
            rows = [(str(number), "s", number, "{}") for number in range(6_000)]
            db.executemany("INSERT INTO message VALUES (?, ?, ?, ?)", rows)
            assert len(list(OpenCode().lines_of(path))) == 6_001

    def test_is_in_order_of_any_times_and_keeps_what_has_no_id(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(database(path, close=False)) as db:
            db.execute("DROP TABLE message")
            db.execute("CREATE TABLE message (id, session_id, time_created, data)")
            db.execute("INSERT INTO session (id, time_created) VALUES ('s', 0)")
            times = ("x", 1000.5, None, 999.5, 1000)
            rows = [("s", time, f'"{time}"') for time in times]
            db.executemany("INSERT INTO message VALUES (NULL, ?, ?, ?)", rows)
            in_sql = "SELECT data FROM message ORDER BY time_created, id"
            expected = [json.loads(data) for (data,) in db.execute(in_sql)]
        _, *messages = map(json.loads, OpenCode().lines_of(path))
        assert [message["info"] for message in messages] == expected

    def test_without_row_numbers_costs_one_message(self, tmp_path: Path) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(database(path, close=False)) as db:
            db.execute("DROP TABLE session")
            db.execute(
                "CREATE TABLE session (id PRIMARY KEY, time_created) WITHOUT ROWID"
            )
            (warning,) = warned(path)
        assert "no database that can be read (no such column: rowid)" in warning

    def test_of_another_program_says_nothing(self, tmp_path: Path) -> None:
        with contextlib.closing(
            sqlite3.connect(path := tmp_path / "other.db")
        ) as found:
            found.execute("CREATE TABLE x (y)")
        assert warned(path) == []

    def test_with_broken_values_loses_only_these(self, tmp_path: Path) -> None:
        path = tmp_path / DATA / "opencode.db"
        with contextlib.closing(
            database(path, document(*MESSAGES), close=False)
        ) as found:
            for value in (
                "{",
                None,
                b"\xff\xfe",
                5,
                "[" * 5000,
                '{"x": ' + "9" * 400 + "}",
            ):
                row = (f"z{value!r}"[:20], "ses_1_m001", "ses_1", 0, value)
                found.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)
                found.execute(
                    "INSERT INTO message VALUES (?, ?, ?, ?)",
                    (row[0], "ses_1", 0, value),
                )
            events = seen(events_of(path, "opencode"))
        assert {name: events.get(name) for name in FOUND} == FOUND

    def test_of_files_may_have_some_that_cannot_be_read(self, tmp_path: Path) -> None:
        path = files(tmp_path / "storage", document(*MESSAGES))
        (tmp_path / "storage/part/msg_001/prt_9.json").mkdir()
        put(
            tmp_path / "storage/message/ses_1/msg_999.json",
            b'{"role": "user", "ti',
            document=True,
        )
        found = seen(events_of(path, "opencode"))
        assert found.pop("skipped") == {"a field of another type": 2}
        assert found == FOUND

    def test_counts_among_the_files_beside_it(self, tmp_path: Path) -> None:
        assert OpenCode().sibling_files(tmp_path / "a.db") == [tmp_path / "a.db-wal"]
        path = files(tmp_path, document(*MESSAGES[:2]))
        assert len(OpenCode().sibling_files(path)) == 6


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ({}, ("~/.local/share/opencode", "opencode")),
        ({"XDG_DATA_HOME": "/x"}, ("/x/opencode", "opencode")),
        ({"OPENCODE_DB": "/y/my.db"}, ("/y", "my.db")),
        ({"OPENCODE_DB": "my.db", "XDG_DATA_HOME": "/x"}, ("/x/opencode", "my.db")),
    ],
    ids=["usual", "another-home", "a-database", "a-database-in-it"],
)
def test_the_places_follow_the_environment(
    environment: dict[str, str], first: tuple[str, str]
) -> None:
    found = OpenCode().homes(environment)
    assert (found[0].path, found[0].prefix, found[0].below) == (
        Path(first[0]).expanduser(),
        first[1],
        False,
    )
    assert [home.path.name for home in Kilo().homes({})] == [
        "kilo",
        "session",
        "project",
    ]


def test_what_is_not_understood_is_named(tmp_path: Path) -> None:
    events = export(
        tmp_path,
        answered(1, {"type": "dream"}),
        {"info": {"role": "robot", "time": {}}, "parts": []},
        5,
    )
    kinds = {
        f"of a kind that is not known: {kind}, version 1.14.3": 1
        for kind in ("dream", "robot")
    }
    assert dict(events.skipped) == kinds | {"a field of another type": 1}


@IN_PARTS
def test_no_value_of_another_type_stops_the_reader(part: int) -> None:
    for lines in damaged(
        [document(*MESSAGES[:4], revert={"messageID": "x"}), *MESSAGES[4:6]], part
    ):
        read_anyhow("opencode", lines)


class TestWhole:
    """In the user's home and in a checkpoint, by what the commands say."""

    @pytest.fixture
    def place(self, place: Place) -> Place:
        place.iteration(1)
        return place

    def session(self, place: Place) -> Line:
        at = COMMITTED - STEP // 2 - START
        sha = place.repo.git("rev-parse", "--short", "HEAD")
        messages: Sequence[Line] = (
            asked(at, "Do it"),
            answered(
                at + 1,
                bash("pytest", 0, "1 passed in 1s", at + 1),
                tokens=counted(5, 25, 75, 0),
            ),
            answered(
                at + 9,
                bash("git commit -m x", 0, f"[main {sha}] x", at + 9),
                tokens=counted(5, 25, 75, 0),
            ),
        )
        found = json.dumps(document(*messages, directory=str(place.path))).replace(
            FOLDER, str(place.path)
        )
        made: Line = json.loads(found)
        return made

    @pytest.mark.parametrize("where", ["database", "files", "both", "checkpoint"])
    def test_a_session_counts_once(
        self, place: Place, da_score: DaScore, where: str
    ) -> None:
        data = place.home / DATA
        if where in ("database", "both"):
            database(data / "opencode.db", self.session(place))
        if where in ("files", "both"):
            files(data / "storage", self.session(place))
        if where == "checkpoint":
            place.repo.git(
                "commit",
                "-q",
                "--amend",
                "-m",
                f"{place.repo.git('log', '-1', '--format=%B')}\n\nEntire-Checkpoint: {name(1)}",
            )
            whole = json.dumps(self.session(place), indent=2).encode()
            record(
                place.repo,
                {name(1): {"0/full.jsonl": whole, "0/metadata.json": about("ses_1")}},
            )
        units = da_score("work", "--json").json["units"]
        (unit,) = [one for one in units if one["kind"] == "commit"]
        head = place.repo.git("rev-parse", "HEAD")
        assert (unit["commit"], unit["session_id"], unit["harness"], unit["model"]) == (
            head,
            "ses_1",
            "opencode",
            "m",
        )
        assert (unit["calls"], unit["state"]) == (2, "landed")
        assert unit["tokens"] == {
            "input": 50,
            "output": 10,
            "cache_read": 150,
            "cache_creation": 0,
        }
        (one,) = da_score("signals", "--rubric", "3.1.0", "--no-cache").json
        assert "1 test run, 0 failed; last passed: pytest" in json.dumps(one["signals"])
