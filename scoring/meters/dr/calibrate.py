"""How often the meter says what people expected, under several settings, and where it does not."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

from scoring.errors import InputError
from scoring.files import list_names, read_file
from scoring.meters import Level, rounded
from scoring.meters.dr import score_transcript
from scoring.meters.dr.profile import BUILT_IN, DEFAULT, Profile, Words
from scoring.meters.dr.recommendation import Signal
from scoring.meters.dr.semantic import Embed
from scoring.meters.dr.transcript import HEADER, Transcript, checked_part, parse_transcript
from scoring.meters.plaindata import decode
from scoring.statistics import wilson

KEY = "_expected"  # the label, beside the rounds of a transcript, in JSONL in the header
SIGNALS: tuple[Signal, ...] = get_args(Signal)
_SUFFIXES = (".json", ".jsonl", ".ndjson")


class Label(BaseModel):
    """What people expected; a class is None where they named none."""

    model_config = ConfigDict(frozen=True)

    signal: Signal = Field(alias="stop_recommendation")
    novelty: Level | None = Field(default=None, alias="novelty_classification")
    readiness: Level | None = Field(default=None, alias="readiness_classification")


class Labelled(NamedTuple):
    """A transcript with its label."""

    file: str  # its name in the directory
    transcript: Transcript
    label: Label


class Collection(NamedTuple):
    """Everything in a directory: nothing is left out without being named here."""

    labelled: tuple[Labelled, ...]
    unlabelled: tuple[str, ...]  # transcripts without a label
    broken: tuple[
        tuple[str, str], ...
    ]  # no transcript, or a label that cannot be read, with the reason
    others: tuple[str, ...]  # what is not named as a transcript is, and directories; not read


class Setting(NamedTuple):
    """How the meter is set: ``k``, and whether level L2 counts."""

    k: int
    semantic: bool

    def __str__(self) -> str:
        return f"k = {self.k}, {'+'.join(self.levels)}"

    @property
    def levels(self) -> tuple[str, ...]:
        """The active levels."""
        return ("L0", "L1", "L2") if self.semantic else ("L0", "L1")


class Judged(NamedTuple):
    """What the meter says of one labelled transcript."""

    file: str
    expected: Label
    found: Label
    rule: str  # the name of the rule that decided
    why: str  # what the rule saw, in words

    @property
    def agrees(self) -> bool:
        """Whether the signal is the expected one."""
        return self.found.signal == self.expected.signal

    @property
    def other_classes(self) -> tuple[str, ...]:
        """The classes that differ from the label, in words."""
        pairs = (
            (name, getattr(self.expected, name), getattr(self.found, name))
            for name in ("novelty", "readiness")
        )
        return tuple(
            f"{name} {wanted}, found {found}"
            for name, wanted, found in pairs
            if wanted not in (None, found)
        )


class Agreement(NamedTuple):
    """How many of some answers are the expected ones."""

    agreed: int
    total: int

    @property
    def share(self) -> float | None:
        """The share, 0 to 1; None when there is nothing to compare."""
        return self.agreed / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true share is with 95 % confidence, as far as so few can show (Wilson)."""
        return wilson(self.agreed, self.total)


class Calibration(NamedTuple):
    """What the meter says of every labelled transcript under one setting."""

    setting: Setting
    outcomes: tuple[Judged, ...]

    @property
    def agreement(self) -> Agreement:
        """On the signal."""
        return Agreement(sum(o.agrees for o in self.outcomes), len(self.outcomes))

    def agreement_on(self, name: str) -> Agreement:
        """Return the agreement on a class, ``novelty`` or ``readiness``, over the labels that name one."""
        pairs = [(getattr(o.expected, name), getattr(o.found, name)) for o in self.outcomes]
        named = [wanted == found for wanted, found in pairs if wanted is not None]
        return Agreement(sum(named), len(named))

    def confusion(self) -> dict[Signal, dict[Signal, int]]:
        """Return how often each signal was found, by the signal that was expected."""
        seen = {signal for o in self.outcomes for signal in (o.expected.signal, o.found.signal)}
        named = [
            signal for signal in SIGNALS if signal != "ASK" or signal in seen
        ]  # no label of old has it
        counts = {wanted: dict.fromkeys(named, 0) for wanted in named}
        for o in self.outcomes:
            counts[o.expected.signal][o.found.signal] += 1
        return counts


def read_collection(directory: Path) -> Collection:
    """Read every transcript directly in a directory, in the order of their names; InputError if it cannot be listed."""
    labelled, unlabelled, broken, others = [], [], [], []
    for name in list_names(directory):
        path = directory / name
        if path.is_dir() or not name.endswith(_SUFFIXES):
            others.append(name)
            continue
        try:
            text = decode(read_file(path), str(path))
            transcript = parse_transcript(text, str(path))
            if (expected := _expected(text)) is None:
                unlabelled.append(name)
            else:
                labelled.append(
                    Labelled(name, transcript, checked_part(Label, expected, str(path), KEY))
                )
        except InputError as e:
            broken.append((name, str(e)))
    return Collection(tuple(labelled), tuple(unlabelled), tuple(broken), tuple(others))


def with_label(data: bytes, source: str, label: Mapping[str, Any]) -> dict[str, Any]:
    """Return a transcript as plain data with a label in place of the one that it has; TranscriptError for none."""
    given = parse_transcript(decode(data, source), source, texts=True)
    return {
        **given.model_dump(mode="json", exclude_unset=True, exclude_none=True),
        KEY: dict(label),
    }


def _expected(text: str) -> Any:
    try:
        documents = [json.loads(text)]
    except ValueError:  # one document per line
        values = [json.loads(line) for line in text.split("\n") if line.strip()]
        documents = [value for value in values if value.get("type") == HEADER]
    return next((found for d in documents if (found := d.get(KEY)) is not None), None)


def calibrate(
    labelled: Sequence[Labelled],
    settings: Iterable[Setting],
    embed: Embed | None = None,
    profile: Profile = DEFAULT,
    words: Words = BUILT_IN,
) -> tuple[Calibration, ...]:
    """Compare each transcript with its label under every setting; one with level L2 needs ``embed``."""
    return tuple(
        Calibration(
            s,
            tuple(
                _judged(item, replace(profile, k=s.k), words, embed if s.semantic else None)
                for item in labelled
            ),
        )
        for s in settings
    )


def _judged(item: Labelled, profile: Profile, words: Words, embed: Embed | None) -> Judged:
    result = score_transcript(item.transcript, profile=profile, words=words, embed=embed)
    decided = result.recommendations[-1]
    on_novelty, on_readiness, what_follows = decided.reasons
    seen = {"novelty_not_low": on_novelty, "readiness_low": on_readiness}
    found = Label(
        stop_recommendation=result.signal,
        novelty_classification=result.novelty[-1].level,
        readiness_classification=result.readiness[-1].level,
    )
    return Judged(item.file, item.label, found, decided.rule, seen.get(decided.rule, what_follows))


def calibration_payload(
    collection: Collection, calibrations: Iterable[Calibration], left_out: str = ""
) -> dict[str, object]:
    """Return everything as JSON; ``left_out`` says why level L2 was not measured."""
    return {
        "labelled": [item.file for item in collection.labelled],
        "unlabelled": list(collection.unlabelled),
        "broken": [{"file": file, "reason": why} for file, why in collection.broken],
        "others": list(collection.others),
        "semantic_left_out": left_out or None,
        "settings": [
            {
                "k": c.setting.k,
                "levels": list(c.setting.levels),
                "agreement": _agreement(c.agreement),
                "novelty_agreement": _agreement(c.agreement_on("novelty")),
                "readiness_agreement": _agreement(c.agreement_on("readiness")),
                "confusion": c.confusion(),
                "files": [
                    {"file": o.file, "agrees": o.agrees}
                    | {
                        "expected": o.expected.model_dump(),
                        "found": o.found.model_dump(),
                        "rule": o.rule,
                        "why": o.why,
                    }
                    for o in c.outcomes
                ],
            }
            for c in calibrations
        ],
    }


def _agreement(a: Agreement) -> dict[str, object]:
    share = None if a.share is None else rounded(a.share)
    return {
        "agreed": a.agreed,
        "of": a.total,
        "share": share,
        "interval_95": [rounded(end) for end in a.interval],
    }
