"""The page of statements: every place on it exists, and every command prints what it says."""

import importlib
import io
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers.commands import DaScore
from helpers.deliberations import MEETING, OWNED, document, outputs, write_json
from helpers.meetings import ALL_DEEP, ALL_NONE, record

from scoring.demo import Demo

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "STATEMENTS.md").read_text("utf-8")


class Statement(NamedTuple):
    """A statement of the page; ``where`` names its places, and those of the others in its row."""

    id: str
    text: str
    where: str
    command: str
    prints: str


def statements() -> Iterator[Statement]:
    for block in re.findall(r"<!-- statements -->\n(.*?)<!-- /statements -->", PAGE, re.S):
        for line in block.splitlines()[2:]:
            ids, texts, where, command, prints = (c.strip() for c in line.strip().strip("|").split(" | ", 4))
            first, *last = re.findall(r"\d+", ids)
            numbers = range(int(first), int(*last or [first]) + 1)
            shown = prints.split(" · ") if prints else [""] * len(numbers)
            for number, text, piece in zip(numbers, texts.split(" · "), shown, strict=True):
                yield Statement(f"{ids[0]}{number}", text, where, command, piece)


ROWS = [row._replace(prints=row.prints.strip("` ")) for row in statements()]
COMMANDS = [row for row in ROWS if row.command]


def test_the_four_documents_are_there_with_every_statement_once() -> None:
    assert {row.id[0] for row in ROWS} == set("ABCD")
    assert len(ROWS) >= 365
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert len({(row.id[0], row.text) for row in ROWS}) == len(ROWS)
    assert len(COMMANDS) >= 100
    assert all(row.text and row.where and bool(row.command) == bool(row.prints) for row in ROWS)


def slugs(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def is_there(where: str) -> bool:
    if link := re.fullmatch(r"\[\S+\]\((\w+\.md)#([\w-]+)\)", where):
        return link[2] in slugs(ROOT / "docs" / link[1])
    place = where.strip("`")
    if place.startswith("tests/"):
        path, _, name = place.partition("::")
        return (ROOT / path).is_file() and (not name or f"class {name}" in (ROOT / path).read_text("utf-8"))
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module)
    for name in filter(None, path.split(".")):
        if name in getattr(found, "model_fields", {}) or name in getattr(found, "__dataclass_fields__", {}):
            return True
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("`scoring.meters:NOVELTY_LOW`", True),
        ("`scoring.meters:NOVELTY_LOWER`", False),
        ("[PARITY.md](PARITY.md#names)", True),
        ("[PARITY.md](PARITY.md#namen)", False),
        ("`tests/docs/test_statements.py`", True),
        ("`tests/docs/test_statement.py`", False),
    ],
)
def test_a_place_that_is_not_there_is_noticed(where: str, found: bool) -> None:
    assert is_there(where) is found


def test_every_place_is_there() -> None:
    assert [(row.id, place) for row in ROWS for place in row.where.split(" · ") if not is_there(place)] == []


# The files that the commands name

FOUR = ["one about ducks", "two concerning geese", "three with swans", "four of herons"]
WILL = ["Nadia will deploy the fix today", "Add a retry to upload.py"]
A_AND_B = (("A", 0.5), ("B", 0.5), ("A", 0.4))
SAID = ["We should buy the large one", "The small one breaks too often", "We should buy the large one now"]


def write_files(folder: Path) -> None:
    six = [{"round": r.round, "outputs": r.outputs.model_dump()} for r in MEETING.rounds]
    for name, count in (("six", 6), ("five", 5), ("four", 4), ("first", 1)):
        write_json(folder / f"{name}.json", {"rounds": six[:count]})
    lines = "".join(json.dumps({"type": "round", **row}) + "\n" for row in six)
    (folder / "six.jsonl").write_text(lines, "utf-8")
    ask = ["Why?", "When?", "Where?"]
    transcripts = {
        "exact": [outputs(["Use it now", "use  IT now!", "Keep it"]), outputs(["USE IT NOW.", "keep it"])],
        "owned": [outputs(FOUR, OWNED)] * 3,
        "file": [outputs(FOUR, ["proxy.yaml"])],
        "will": [outputs(FOUR, WILL)],
        "sense": [outputs(FOUR, ["Add handling of missing values"])],
        "blocked": [outputs(FOUR, ["Waiting on the keys"])] * 3,
        "asked": [outputs(FOUR, OWNED, ask[:1])] * 3,
        "stuck": [outputs(FOUR, [], ask[:1])] * 3,
        "never": [outputs(FOUR, ["End."])] * 4,
        "inflated": [outputs(FOUR, OWNED)] * 3,
        "dropped": [outputs(FOUR, [], ask[:1]), outputs(["owls hoot at night"])],
        "questions": [outputs(FOUR, [], ask[:n]) for n in (1, 3, 3, 2)],
    }
    for name, rounds in transcripts.items():
        write_json(folder / f"{name}.json", document(*rounds))
    write_json(folder / "text.json", {"rounds": [{"round": 1, "outputs": {"text": "It is late now. We go home."}}]})
    turns = [("ann", "take the red one"), ("bob", "take the red two")]
    rounds = [{"round": n, "agent": who, "outputs": {"claims": [what]}} for n, (who, what) in enumerate(turns, 1)]
    write_json(folder / "agents.json", {"rounds": rounds})
    for name, other in (("endorsed", "It also has a blue cover"), ("modified", "Take the blue one instead")):
        responses = {"ann": "Take the red one.", "bob": f"Take the red one. {other}."}
        rounds = [{"round": 1, "outputs": {"claims": ["take one"], "responses": responses}}]
        write_json(folder / f"{name}.json", {"rounds": rounds})
    write_meetings(folder)


def write_meetings(folder: Path) -> None:
    def said(**more: Any) -> dict[str, Any]:
        return record(3, **more) | {"messages": [{"text": text} for text in SAID]}

    annotated = record()
    annotated["focus"] = {
        "message_annotations": [
            {"message_id": f"m{n}", "speaker_id": "e1", "topic_relevance": kind}
            for n, kind in enumerate(("core", "core", "context", "off_topic"))
        ]
    }
    uncounted = said()
    del uncounted["novelty"]
    seven = ["deep", "deep", "shallow", None, "none", "shallow", "none", "shallow"]
    seed = record(
        3,
        levels={name: level for name, level in zip(ALL_DEEP, seven, strict=True) if level},
        experts=(("A", 0.7), ("B", 0.6), ("A", 0.8)),
        messages=(10, 4, 2),
        points=(5, 7),
        exploration__exploration_score=0.46,
        novelty__novelty_score_recent=0.3,
        composite={
            "exploration_score": 0.46,
            "convergence_score": 0.5,
            "focus_score": 0.71,
            "low_novelty_score": 0.7,
            "weights_used": {"exploration": 0.35, "convergence": 0.35, "focus": 0.2, "low_novelty": 0.1},
            "meeting_completeness_index": 0.55,
        },
    )
    stale = record(
        convergence__leading_option="B", exploration__missing_critical_aspects=["risks_failure_modes", "objectives"]
    )
    two = dict(zip(ALL_DEEP, ["deep"] * 6 + ["shallow"] * 2, strict=True))
    shallow = dict.fromkeys(ALL_DEEP, "shallow")
    meetings = {
        "rounds": [record(1, levels=ALL_NONE, experts=A_AND_B), record(2, levels=shallow, experts=A_AND_B), record(3)],
        "ten": [record(10, experts=A_AND_B, summary={"round_brief": "Two ways.", "key_new_points": ["A is cheap"]})],
        "ring": [record(n, experts=(("A", 0.9),) * 3 + (("B", 0.9),), points=(3, 7)) for n in range(1, 6)],
        "circles": [record(n, experts=A_AND_B) for n in range(1, 6)],
        "early": [record(1, levels=ALL_NONE)],
        "seed": [seed],
        "stale": [stale],
        "annotated": [annotated],
        "said": [uncounted],
        "six_two": [record(3, levels=two)],
        "four_of_five": [record(3, experts=(("A", 0.8),) * 4 + (("B", 0.8),))],
    }
    for name, records in meetings.items():
        write_json(folder / f"{name}.json", records)
    (folder / "rounds.jsonl").write_text("".join(json.dumps(r) + "\n" for r in meetings["rounds"]), "utf-8")
    (folder / "cost.yaml").write_text("cost_per_step: 0.5\ncost_limit: 1\n", "utf-8")
    (folder / "prose.txt").write_text("Here is the record: {}\n", "utf-8")
    write_json(folder / "answers.json", [record(n) for n in range(1, 11)])
    (folder / "judge.py").write_text(
        "import json, sys\nrecords = json.load(open('answers.json'))\n"
        "print(json.dumps(records[json.load(sys.stdin)['next_round'] - 1]))\n",
        "utf-8",
    )


@pytest.mark.slow
def test_every_command_prints_what_the_page_says(
    here: Demo, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(here.repo_dir)
    monkeypatch.setenv("DA_SCORE_TRANSCRIPT_DIR", "../transcripts/claude:../transcripts/codex")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    faults = []
    for row in COMMANDS:
        arguments = shlex.split(row.command.strip("`").replace("@python", shlex.quote(sys.executable)))[1:]
        found = da_score(*arguments)
        if "--judge" in arguments:  # the same question, for the row that says yes
            Path("done.json").write_bytes(Path(arguments[arguments.index("--state") + 1]).read_bytes())
        printed = " ".join((found.out + found.err).split())
        if " ".join(row.prints.split()) not in printed:
            faults.append(f"{row.id} {row.command}: {row.prints!r} is not in {printed[:3000]!r}")
    assert not faults, "\n".join(["", *faults])
