"""What the diminishing-returns meter goes by: k, thresholds and word lists, which settings may tune (docs/GUIDE.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from rubric import released_profile
from scoring.errors import SettingsError
from scoring.meters import NOVELTY_HIGH, NOVELTY_LOW, Level, at_least
from scoring.settings_table import FLAG, TEXT, Kind, Kinds, ListOf, checked_table, is_whole


@dataclass(frozen=True, slots=True)
class DRThresholds:
    """Where classes begin and when two claims say the same; each from 0 to 1."""

    novelty_high: float = NOVELTY_HIGH  # a novelty rate above this is HIGH
    novelty_low: float = NOVELTY_LOW  # a novelty rate below this is LOW
    paraphrase: float = (
        0.6  # a claim this similar to an earlier one by its words (Jaccard) is no new one: level L1
    )
    semantic: float = 0.82  # a claim this similar to an earlier one by its meaning (cosine) is no new one: level L2
    stability: float = 0.82  # two rounds this similar (cosine) are stable: the composite rule
    readiness_high: float = 0.7  # readiness from here on is HIGH
    readiness_medium: float = 0.4  # readiness from here on is MEDIUM, below it is LOW

    def readiness_level(self, readiness: float) -> Level:
        """Return the class of a readiness."""
        if at_least(readiness, self.readiness_high):
            return "HIGH"
        return "MEDIUM" if at_least(readiness, self.readiness_medium) else "LOW"


@dataclass(frozen=True, slots=True)
class Words:
    """Words by list: all that the meter knows, or those that settings add. None that it knows can be taken away."""

    verbs: tuple[str, ...] = ()  # what a specific action does
    vague_starts: tuple[str, ...] = ()  # how a vague action starts
    vague: tuple[str, ...] = ()  # words that make an action vague wherever they are
    blockers: tuple[
        str, ...
    ] = ()  # words, from a left word boundary, that report a blocker in a question or an action
    ownership: tuple[str, ...] = ()  # words that say who acts


BUILT_IN = Words()  # no words added: the lists of the profile and nothing else

CURRENT = "dr-2"  # the released profile by which the meter goes where no rubric is asked
_NOW: Any = released_profile(CURRENT)


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything that a result depends on beside the transcript and the words that settings add."""

    k: int = _NOW["k"]  # how many rounds in a row must be low in novelty before that counts
    levels: tuple[str, ...] = tuple(
        _NOW["levels"]
    )  # the levels that count without an embedder, of L0 and L1
    stuck_after: int = _NOW[
        "stuck-after"
    ]  # so many rounds of low novelty in a row, none ready, and the loop is stuck
    short_action: int = _NOW["short-action"]  # an action of fewer words needs a verb of the list
    thresholds: DRThresholds = field(default_factory=DRThresholds)
    words: Words = Words(
        **{name.replace("-", "_"): tuple(words) for name, words in _NOW["words"].items()}
    )
    artifacts: tuple[str, ...] = tuple(_NOW["artifacts"])  # words for something concrete
    alternatives: tuple[str, ...] = tuple(
        _NOW["alternatives"]
    )  # pairs with a slash that are no path
    tools: tuple[str, ...] = tuple(
        _NOW["tools"]
    )  # names of tools, which are something concrete beside an action
    labels: tuple[str, ...] = tuple(
        _NOW["labels"]
    )  # words before a colon or "will" that name no one
    teams: tuple[str, ...] = tuple(_NOW["teams"])  # roles and teams: they may act
    addressed: tuple[str, ...] = tuple(
        _NOW["addressed"]
    )  # words before a team that say what is done with it
    sentences: bool = True  # whether more than lists is read and questions are asked: the docs' "Beyond the lists"

    @classmethod
    def from_data(cls, data: Mapping[str, Any], where: str) -> "Profile":
        """Return the profile in plain data; SettingsError with ``where`` for a missing or unknown key or bad value."""
        is_first = "sentences" not in data
        given = checked_table(
            data, _PROFILE if is_first else {**_PROFILE, **_SENTENCES}, where, whole=True
        )
        if is_first:
            given |= {"sentences": False, "tools": (), "labels": (), "teams": (), "addressed": ()}
        if not given["levels"]:
            raise SettingsError(f"{where}: levels is empty, not L0, L1 or both")
        thresholds = _thresholds(given.pop("thresholds"), where)
        words = Words(**_attributes(given.pop("words")))
        return cls(thresholds=thresholds, words=words, **_attributes(given))


DEFAULT = Profile()  # what the meter goes by where no rubric is asked


def _attributes(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("-", "_"): value for key, value in table.items()}


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


_ROUNDS, _LENGTH = (
    Kind(f"a number of {of} from 1", lambda value: is_whole(value, 1, 1_000_000))
    for of in ("rounds", "words")
)
_LIST = ListOf(
    "a list of words",
    Kind("a word or phrase", lambda value: TEXT.fits(value) and value.strip() != ""),
)
_SHARE = Kind("a number from 0 to 1", _is_share)
_ABOVE_ZERO = Kind("a number above 0, up to 1", lambda value: _is_share(value) and value > 0)
_TUNING: Kinds = {
    "k": _ROUNDS,
    "thresholds": {f.name.replace("_", "-"): _SHARE for f in fields(DRThresholds)}
    | dict.fromkeys(("paraphrase", "semantic"), _ABOVE_ZERO),
    "words": {f.name.replace("_", "-"): _LIST for f in fields(Words)},
}
_PROFILE: Kinds = {
    **_TUNING,
    "levels": ListOf("a list of levels", Kind("L0 or L1", lambda value: value in ("L0", "L1"))),
    "stuck-after": _ROUNDS,
    "short-action": _LENGTH,
    "artifacts": _LIST,
    "alternatives": _LIST,
}
_SENTENCES: Kinds = {
    "sentences": FLAG,
    **dict.fromkeys(("tools", "labels", "teams", "addressed"), _LIST),
}


def tuning_from(tables: Iterable[tuple[str, Any]]) -> tuple[Profile, Words]:
    """Return the default profile with what some tables set, and the words they add; a later one wins; SettingsError."""
    limits: dict[str, float] = {}
    words: dict[str, tuple[str, ...]] = {}
    profile = DEFAULT
    for where, table in tables:
        given = checked_table(table, _TUNING, where)
        limits |= given.get("thresholds", {})
        words |= given.get("words", {})
        profile = replace(
            profile, k=given.get("k", profile.k), thresholds=_thresholds(limits, where)
        )
    return profile, Words(**_attributes(words))


def _thresholds(limits: Mapping[str, float], where: str) -> DRThresholds:
    found = DRThresholds(**{name: float(value) for name, value in _attributes(limits).items()})
    if found.novelty_low > found.novelty_high:
        raise SettingsError(
            f"{where}: thresholds.novelty-low is above thresholds.novelty-high; swap them"
        )
    if found.readiness_medium > found.readiness_high:
        raise SettingsError(
            f"{where}: thresholds.readiness-medium is above thresholds.readiness-high; swap them"
        )
    return found
