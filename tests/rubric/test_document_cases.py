"""The three entries of one log in the rubric document.

The product computes every number that stands there.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.facts import TRUNK, facts_of

from rubric import BAND_LABELS, Rubric, Score, released_rubric
from scoring.evidence.artifacts import Corrections
from scoring.evidence.facts import IterationFacts
from scoring.evidence.git.facts import ANCESTOR, STANDS, Changed, Landing
from scoring.evidence.scopes import DeclaredScope
from scoring.evidence.transcripts.facts import TranscriptFacts
from scoring.evidence.transcripts.observed_facts import Observed, TestsSeen
from scoring.log.parse import parse_iteration_record
from scoring.signals.table import optional_signals, signal_set
from scoring.views.table import bounds_text, number

DOCUMENT = (Path(__file__).parents[2] / "docs" / "OUTCOME_SCORING_RUBRIC.md").read_text(
    "utf-8"
)
CASES: dict[str, str] = dict(
    re.findall(r"<!-- case:(\S+) -->\n(.*?)<!-- /case -->", DOCUMENT, re.S)
)
NEW, OLD = released_rubric("3.1.0"), released_rubric("2.2.0")


def evidence(name: str) -> dict[str, Any]:
    found = re.search(r"```yaml\n(.*?)```", CASES[name], re.S)
    assert found
    given: dict[str, Any] = yaml.safe_load(found[1])
    return given


def facts(given: dict[str, Any], attributed: bool) -> IterationFacts:
    """Turn what is stated of a case into facts, which say less where nothing is attributed."""
    record = parse_iteration_record(yaml.safe_dump(given["entry"]))
    sha, seen, changed = (
        record.commit,
        dict(given.get("seen", {})),
        given.get("changed", {}),
    )
    tests = TestsSeen(**seen.pop("tests", {}))
    ran = tuple(seen.pop("ran", ()))
    observed = Observed(
        **seen, tests=tests, ran=ran, written=frozenset(given.get("written", ()))
    )
    scope = (
        DeclaredScope(tuple(changed["scope"]), Path("plan/TASKS.yaml"))
        if "scope" in changed
        else None
    )
    return facts_of(
        record,
        landing=Landing("attributed", TRUNK, sha, sha, ANCESTOR, sha, undone=STANDS),
        changed=Changed(
            "attributed", sha, sha, tuple(changed.get("files", ("src/app.py",)))
        ),
        scope=scope,
        statuses=(given.get("artifact", ""),) * len(record.verifiers),
        corrections=Corrections(record.impl.retries, 0, record.impl.retries_reported),
        transcripts=TranscriptFacts(**given["transcript"])
        if "transcript" in given
        else None,
        observed=observed if attributed else None,
    )


def score(given: dict[str, Any], under: Rubric) -> Score:
    attributed = under.evidence == "attributed"
    found = signal_set(
        facts(given, attributed), optional_signals(under), claims_vote=under.claims_vote
    )
    return under.score(found)


def stated(name: str) -> list[str]:
    """What the document says of a case, below what is given."""
    return [line for line in CASES[name].rpartition("```")[2].splitlines() if line]


def computed(name: str) -> list[str]:
    """The same lines, as the product has them."""
    new, old = score(evidence(name), NEW), score(evidence(name), OLD)
    rows = [
        f"| {r.signal} | {r.source} | {r.sub_score:.3f} | {r.detail} |"
        for r in new.breakdown
        if r.present
    ]
    absent = ", ".join(
        r.signal for r in new.breakdown if not r.present and r.applicable
    )
    return [
        "| signal | source | sub-score | the row says |",
        "|---|---|---|---|",
        *rows,
        f"- absent: {absent}",
        f"- value: {number(new.value, new.scored)} {bounds_text(new.bounds, new.scored)}".rstrip(),
        f"- coverage: {new.coverage}",
        f"- band: {BAND_LABELS.get(new.band, new.band)}",
        f"- under 2.2.0: {old.value:.3f}, {old.band}",
    ]


def test_there_are_two_and_one_is_made_up() -> None:
    assert list(CASES) == ["observed", "made-up"]
    assert [score(evidence(name), NEW).band for name in CASES] == [
        "excellent",
        "insufficient",
    ]


@pytest.mark.parametrize("name", CASES)
def test_every_number_is_that_of_the_product(name: str) -> None:
    assert stated(name) == computed(name)


def test_the_made_up_one_says_more_than_the_honest_one() -> None:
    made_up, honest = (score(evidence(name), OLD) for name in ("made-up", "observed"))
    assert made_up.value >= honest.value
    assert made_up.band == "excellent"
