"""What the diminishing-returns meter goes by: k, thresholds and word lists.

Settings may tune some of it: docs/GUIDE.md, "Settings".
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import convert, to_builtins
from msgspec.structs import replace

from rubric import released_profile
from scoring.errors import SettingsError
from scoring.frozen import Frozen, PlainData, Texts
from scoring.meters import Level, at_least
from scoring.settings_table import (
    FLAG,
    Kind,
    Kinds,
    ListOf,
    checked_table,
    filled_text,
    is_whole,
)

_Settings = TypeVar("_Settings", bound=Frozen)


class DRThresholds(Frozen, rename="kebab"):
    """Where classes begin, and when two claims say the same. Each is from 0 to 1.

    Attributes:
        novelty_high: a novelty rate above this is HIGH.
        novelty_low: a novelty rate below this is LOW.
        paraphrase: level L1 calls a claim a repetition when its words are at least this similar
            (Jaccard index) to those of an earlier one.
        semantic: level L2 calls a claim a repetition when its meaning is at least this similar
            (cosine) to that of an earlier one.
        stability: the composite rule calls two rounds stable that are at least this similar.
        readiness_high: readiness of at least this is HIGH.
        readiness_medium: readiness of at least this, and not HIGH, is MEDIUM; below it is LOW.
    """

    novelty_high: float
    novelty_low: float
    paraphrase: float
    semantic: float
    stability: float
    readiness_high: float
    readiness_medium: float

    def readiness_level(self, readiness: float) -> Level:
        """Return the class of a readiness."""
        if at_least(readiness, self.readiness_high):
            return "HIGH"
        if at_least(readiness, self.readiness_medium):
            return "MEDIUM"
        return "LOW"


class Words(Frozen, rename="kebab"):
    """The word lists of a profile, or the words that settings add to them.

    Settings cannot take words away.

    Attributes:
        verbs: what a specific action does.
        vague_starts: how a vague action starts.
        vague: words that make an action vague wherever they are.
        blockers: words that report a blocker in a question or an action. They match from a left
            word boundary on.
        ownership: words that say who acts.
    """

    verbs: Texts = ()
    vague_starts: Texts = ()
    vague: Texts = ()
    blockers: Texts = ()
    ownership: Texts = ()


CURRENT = "dr-2"
"""The released profile that the meter uses where no rubric scores, as in ``da-score dr``."""


class Profile(Frozen, rename="kebab"):
    """Everything that a result depends on besides the transcript.

    Attributes:
        k: how many rounds in a row must be low in novelty before that counts.
        levels: the levels that count without an embedder: L0, L1 or both.
        stuck_after: after this many rounds in a row of low novelty, none of them ready, the loop
            is stuck.
        short_action: an action of fewer words is vague unless it has a verb of the list.
        thresholds: where classes begin.
        words: the word lists.
        artifacts: words for something concrete.
        alternatives: pairs with a slash that are not a path, such as ``and/or``.
        tools: names of tools, which are something concrete in an action.
        labels: words before a colon or "will" that do not name a person.
        teams: roles and teams, which may act.
        addressed: words before a team that say what is done with it.
        sentences: whether more than lists is read, and questions are asked:
            docs/DIMINISHING_RETURNS.md, "Beyond the lists".
        added: the words that settings add to the lists.
    """

    k: int
    levels: Texts
    stuck_after: int
    short_action: int
    thresholds: DRThresholds
    words: Words
    artifacts: Texts
    alternatives: Texts
    tools: Texts
    labels: Texts
    teams: Texts
    addressed: Texts
    sentences: bool
    added: Words = Words()

    @classmethod
    def from_data(cls, data: Mapping[str, Any], where: str) -> "Profile":
        """Return the profile that plain data describes.

        The first released profile has no key ``sentences``, nor the lists that came with it.

        Args:
            data: the profile as plain data.
            where: where the data is from, as errors say it.

        Raises:
            SettingsError: a key is missing or unknown, or a value is wrong.
        """
        kinds: Kinds = _PROFILE_KINDS
        if "sentences" in data:
            kinds = {**_PROFILE_KINDS, **_SENTENCE_KINDS}

        values = checked_table(data, kinds, where, whole=True)
        if not values["levels"]:
            raise SettingsError(f"{where}: levels is empty, not L0, L1 or both")
        if "sentences" not in data:
            values |= {"sentences": False, **dict.fromkeys(_SENTENCE_LISTS, ())}
        return _in_order(convert(values, cls), where)

    def with_added_words(self) -> "Profile":
        """Return the profile with the words that settings add in its word lists."""
        lists = {
            name: getattr(self.words, name) + getattr(self.added, name)
            for name in Words.__struct_fields__
        }
        return replace(self, words=Words(**lists))


def _is_share(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value <= 1
    )


def _count_of(things: str) -> Kind:
    return Kind(
        f"a number of {things} from 1", lambda value: is_whole(value, 1, 1_000_000)
    )


_ROUNDS = _count_of("rounds")
_PHRASES = ListOf("a list of words", filled_text("a word or phrase"), most=10_000)
_LEVEL = Kind("L0 or L1", lambda value: value in ("L0", "L1"))
_SHARE = Kind("a number from 0 to 1", _is_share)
_ABOVE_ZERO = Kind(
    "a number above 0, up to 1", lambda value: _is_share(value) and value > 0
)


_THRESHOLD_KINDS: Kinds = {
    **dict.fromkeys(DRThresholds.__struct_encode_fields__, _SHARE),
    "paraphrase": _ABOVE_ZERO,
    "semantic": _ABOVE_ZERO,
}
_TUNING_KINDS: Kinds = {
    "k": _ROUNDS,
    "thresholds": _THRESHOLD_KINDS,
    "words": dict.fromkeys(Words.__struct_encode_fields__, _PHRASES),
}
_PROFILE_KINDS: Kinds = {
    **_TUNING_KINDS,
    "levels": ListOf("a list of levels", _LEVEL),
    "stuck-after": _ROUNDS,
    "short-action": _count_of("words"),
    "artifacts": _PHRASES,
    "alternatives": _PHRASES,
}
_SENTENCE_LISTS = ("tools", "labels", "teams", "addressed")
_SENTENCE_KINDS: Kinds = {
    "sentences": FLAG,
    **dict.fromkeys(_SENTENCE_LISTS, _PHRASES),
}


def tuning_from(tables: list[tuple[str, Any]]) -> Profile:
    """Return the default profile as some tables of settings tune it.

    Args:
        tables: where each table comes from, as errors say it, and the table. A later one wins.

    Raises:
        SettingsError: a table has an unknown key or a wrong value.
    """
    profile = DEFAULT
    for where, table in tables:
        values = checked_table(table, _TUNING_KINDS, where)
        tuned = replace(
            profile,
            k=values.get("k", profile.k),
            thresholds=_with(profile.thresholds, values.get("thresholds", {})),
            added=_with(profile.added, values.get("words", {})),
        )
        profile = _in_order(tuned, where)
    return profile


def _with(settings: _Settings, changes: PlainData) -> _Settings:
    """Return thresholds or words in which some are changed, given by their names in settings."""
    return convert({**to_builtins(settings), **changes}, type(settings))


def _in_order(profile: Profile, where: str) -> Profile:
    """Return the profile as it is, and refuse one in which a class begins above the next one.

    Raises:
        SettingsError: thresholds are in the wrong order; the text begins with ``where``.
    """
    thresholds = profile.thresholds
    swapped = ""
    if thresholds.novelty_low > thresholds.novelty_high:
        swapped = "thresholds.novelty-low is above thresholds.novelty-high"
    elif thresholds.readiness_medium > thresholds.readiness_high:
        swapped = "thresholds.readiness-medium is above thresholds.readiness-high"

    if swapped:
        raise SettingsError(f"{where}: {swapped}; swap them")
    return profile


DEFAULT = Profile.from_data(released_profile(CURRENT), CURRENT)
"""The profile of :data:`CURRENT`."""
