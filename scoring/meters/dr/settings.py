"""What the diminishing-returns meter goes by: k, thresholds and word lists.

A :class:`Profile` is all of it. A rubric that lets the meter vote names a profile, which is data of the rubric and
never changes; :data:`DEFAULT` is the profile of everything else. Somebody may tune the meter with a table, in the
settings (``[dr]`` in ``.agents/da-score.toml``, ``[tool.da-score.dr]`` in ``pyproject.toml``) or in a file::

    k = 3
    thresholds = { paraphrase = 0.7, novelty-low = 0.2 }
    words = { verbs = ["roll back"], blockers = ["needs sign-off"] }
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any

from scoring.errors import SettingsError
from scoring.meters import NOVELTY_HIGH, NOVELTY_LOW, Level, at_least
from scoring.meters.faults import shown

LARGEST_K = 1_000_000

_ABOVE_ZERO = {"paraphrase", "semantic"}
"""Thresholds at 0 would make every claim a repetition."""


@dataclass(frozen=True, slots=True)
class DRThresholds:
    """Where classes begin and when two claims say the same; each from 0 to 1."""

    novelty_high: float = NOVELTY_HIGH
    """A novelty rate above this is HIGH."""
    novelty_low: float = NOVELTY_LOW
    """A novelty rate below this is LOW."""
    paraphrase: float = 0.6
    """A claim this similar to an earlier one by its words (Jaccard) is no new one: level L1."""
    semantic: float = 0.82
    """A claim this similar to an earlier one by its meaning (cosine) is no new one: level L2."""
    stability: float = 0.82
    """Two rounds this similar (cosine) are stable: the composite rule."""
    readiness_high: float = 0.7
    """Readiness from here on is HIGH."""
    readiness_medium: float = 0.4
    """Readiness from here on is MEDIUM, below it is LOW."""

    def readiness_level(self, readiness: float) -> Level:
        """Return the class of a readiness."""
        if at_least(readiness, self.readiness_high):
            return "HIGH"
        return "MEDIUM" if at_least(readiness, self.readiness_medium) else "LOW"


@dataclass(frozen=True, slots=True)
class Words:
    """Words by list: all that the meter knows, or those that somebody adds. None that it knows can be taken away."""

    verbs: tuple[str, ...] = ()
    """What a specific action does."""
    vague_starts: tuple[str, ...] = ()
    """How a vague action starts."""
    vague: tuple[str, ...] = ()
    """Words that make an action vague wherever they are."""
    blockers: tuple[str, ...] = ()
    """Words, from a left word boundary, that report a blocker in a question or an action."""
    ownership: tuple[str, ...] = ()
    """Words that say who acts."""


BUILT_IN = Words()
"""No words added: the lists of the profile and nothing else."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything that a result depends on beside the transcript and the words that somebody adds."""

    k: int = 2
    """How many rounds in a row must be low in novelty before that counts."""
    levels: tuple[str, ...] = ("L0", "L1")
    """The levels that count without an embedder."""
    stuck_after: int = 3
    """So many rounds of low novelty in a row, none of them ready, and the loop is stuck."""
    short_action: int = 5
    """An action of fewer words needs a verb of the list."""
    thresholds: DRThresholds = field(default_factory=DRThresholds)
    words: Words = Words(
        verbs=(
            *("run", "write", "create", "open", "deploy", "send", "test", "build", "merge", "ship", "implement", "add"),
            *("remove", "update", "fix", "configure", "convert"),
        ),
        vague_starts=("consider", "think about", "explore", "look into", "investigate"),
        vague=("maybe", "possibly", "might", "could potentially"),
        blockers=(
            *("blocked", "blocker", "waiting on", "depends on", "need access", "need permission", "can't proceed"),
            *("prerequisite", "missing"),
        ),
        ownership=("i will", "we will", "owner", "owned by", "assign to", "assigned to"),
    )
    artifacts: tuple[str, ...] = ("pr", "pull request", "branch", "file", "command", "tool", "url")
    """Words for concrete things."""
    alternatives: tuple[str, ...] = (
        *("and/or", "or/and", "either/or", "neither/nor", "yes/no", "no/yes", "true/false", "on/off", "in/out"),
        *("he/she", "she/he", "s/he", "he/she/they", "his/her", "her/his", "him/her", "her/him", "his/hers"),
        *("pass/fail", "before/after", "pros/cons", "n/a", "w/o", "w/", "b/c", "i/o"),
    )
    """Slashes between words that are no paths."""

    @classmethod
    def from_data(cls, data: Mapping[str, Any], where: str) -> "Profile":
        """Return the profile that plain data gives, with every key; ``where`` is named in errors.

        Raises:
            SettingsError: a key is missing or unknown, or a value does not fit it.
        """
        given = _table(data, where, "", [_key(f.name) for f in fields(cls)], whole=True)
        limits = _table(given["thresholds"], where, "thresholds", _THRESHOLDS, whole=True)
        lists = _table(given["words"], where, "words", _WORDS, whole=True)
        thresholds = DRThresholds(**{_THRESHOLDS[key]: _limit(value, key, where) for key, value in limits.items()})
        _check_order(thresholds, where)
        levels = _list(given["levels"], "levels", where)
        if not levels or not set(levels) <= {"L0", "L1"}:
            raise SettingsError(f"{where}: levels is {', '.join(levels) or 'empty'}, not L0, L1 or both")
        return cls(
            k=_rounds(given["k"], "k", where),
            levels=levels,
            stuck_after=_rounds(given["stuck-after"], "stuck-after", where),
            short_action=_rounds(given["short-action"], "short-action", where, "words"),
            thresholds=thresholds,
            words=Words(**{_WORDS[key]: _list(value, f"words.{key}", where) for key, value in lists.items()}),
            artifacts=_list(given["artifacts"], "artifacts", where),
            alternatives=_list(given["alternatives"], "alternatives", where),
        )


DEFAULT = Profile()
"""What the meter goes by where no rubric is asked. It may change; what a rubric votes by may not."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What somebody set of the meter: k, thresholds, and words that add to the lists."""

    k: int = DEFAULT.k
    thresholds: DRThresholds = DEFAULT.thresholds
    words: Words = BUILT_IN


def _key(name: str) -> str:
    return name.replace("_", "-")


_THRESHOLDS = {_key(f.name): f.name for f in fields(DRThresholds)}
_WORDS = {_key(f.name): f.name for f in fields(Words)}


def tuning_from(tables: Iterable[tuple[str, Any]]) -> Tuning:
    """Return what some tables set, the weakest first: a key of a later one replaces that of an earlier one.

    Args:
        tables: where each table is, which errors name, and the table.

    Raises:
        SettingsError: a key is unknown, or a value does not fit it.
    """
    k = DEFAULT.k
    thresholds: dict[str, float] = {}
    words: dict[str, tuple[str, ...]] = {}
    for where, table in tables:
        given = _table(table, where, "", ("k", "thresholds", "words"))
        if "k" in given:
            k = _rounds(given["k"], "k", where)
        limits = _table(given.get("thresholds", {}), where, "thresholds", _THRESHOLDS)
        thresholds |= {_THRESHOLDS[key]: _limit(value, key, where) for key, value in limits.items()}
        lists = _table(given.get("words", {}), where, "words", _WORDS)
        words |= {_WORDS[key]: _list(value, f"words.{key}", where) for key, value in lists.items()}
        _check_order(DRThresholds(**thresholds), where)
    return Tuning(k, DRThresholds(**thresholds), Words(**words))


def _table(value: Any, where: str, name: str, known: Iterable[str], whole: bool = False) -> Mapping[str, Any]:
    at = f"{where}: {name}" if name else where
    if not isinstance(value, Mapping):
        raise SettingsError(f"{at}: {shown(value)} where a table belongs")
    for key in value:
        if key not in known:
            raise SettingsError(f"{at}: unknown setting {key!r}; known: {', '.join(known)}")
    if whole and (missing := [key for key in known if key not in value]):
        raise SettingsError(f"{at}: {', '.join(missing)} missing; a profile leaves nothing out")
    return value


def _rounds(value: Any, key: str, where: str, of: str = "rounds") -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_K:
        raise SettingsError(f"{where}: {key} is {shown(value)}, not a number of {of} from 1")
    return value


def _limit(value: Any, key: str, where: str) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and 0 <= value <= 1
    if not known or (value == 0 and key in _ABOVE_ZERO):
        span = "above 0, up to 1" if key in _ABOVE_ZERO else "from 0 to 1"
        raise SettingsError(f"{where}: thresholds.{key} is {shown(value)}, not a number {span}")
    return float(value)


def _list(value: Any, key: str, where: str) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list):
        raise SettingsError(f"{where}: {key} is {shown(value)}, not a list of words")
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise SettingsError(f"{where}: {key}: {shown(word)} is no word or phrase")
    return tuple(words)


def _check_order(thresholds: DRThresholds, where: str) -> None:
    for low, high in (("novelty_low", "novelty_high"), ("readiness_medium", "readiness_high")):
        if getattr(thresholds, low) > getattr(thresholds, high):
            raise SettingsError(f"{where}: thresholds.{_key(low)} is above thresholds.{_key(high)}; swap them")
