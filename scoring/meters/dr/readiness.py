"""How ready a round is to act: 0.5 next actions + 0.3 open questions + 0.2 blockers, found by words in any case."""

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from scoring.meters import Level
from scoring.meters.dr.profile import BUILT_IN, DEFAULT, Profile, Words
from scoring.text import counted, cut, quote

ACTIONS_WEIGHT, QUESTIONS_WEIGHT, BLOCKERS_WEIGHT = 0.5, 0.3, 0.2

_APOSTROPHES = str.maketrans("\u2018\u2019\u02bc\uff07", "''''")
_HANDLE = re.compile(r"(?<!\w)@\w")
_NAMED = re.compile(r"\s*([^\W\d_][\w'\u2019-]*):(?!//)")
_WEB = re.compile(r"(?<!\w)www\.\w", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<![a-z0-9+.-])([a-z0-9+.-]++)://\w", re.IGNORECASE)
_SCHEME = re.compile(r"(?<!\w)[a-z]", re.IGNORECASE)
_FILE = re.compile(r"\w\w\.(?=\d*[^\W\d_])[^\W_]{1,5}(?!\w)")
_NUMBERED = re.compile(r"(?<!\w)#\d+(?!\w)")
_WILL = re.compile(r"\s*([^\W\d_][\w'\u2019-]*)\s+will(?!\w)")
_NOBODY = frozenset(  # words that a sentence begins with and that name no one, and two that the list of phrases has
    (
        *("i", "we", "it", "this", "that", "there", "these", "those", "what", "which", "who", "nothing", "everything"),
        *("something", "nobody", "how", "when", "where", "why"),
    )
)
_BARE_FILES = re.compile(  # files that are known by a name without an ending
    r"(?<![\w./-])(?:Makefile|GNUmakefile|Dockerfile|Containerfile|Justfile|Jenkinsfile|Procfile|Vagrantfile|Gemfile|"
    r"Rakefile|README|LICENSE|CHANGELOG|CODEOWNERS)(?![\w-])"
)
_TREATED = re.compile(
    r"(?<!\w)(?:handl(?:e|es|ed|ing)|treat(?:s|ed|ing|ment)?|imput(?:e|es|ed|ing|ation)|detect(?:s|ed|ing|ion)?|"
    r"tolerat(?:e|es|ed|ing)|skip(?:s|ped|ping)?|ignor(?:e|es|ed|ing)|drop(?:s|ped|ping)?|report(?:s|ed|ing)?|"
    r"(?:test|tests|testing|check|checks|checking|errors?|messages?|defaults?) (?:for|on|about)|warn(?:s|ing|ings)? "
    r"(?:about|of|on))(?: (?:of|for|the|all|any|a|an|with|in))* $"
)
_WITHHELD = re.compile(
    r" (?:\w+ )?(?:access|permissions?|credentials?|keys?|tokens?|approvals?|rights|sign-offs?|budget)(?!\w)"
)
_BEFORE_A_NOUN = ("missing", "blocked")
_NEAR = 60  # how many characters before a word are looked at for what is done with it
_QUOTED = 120
_PUNCTUATION = ".,;:!?\"'()[]{}<>*_\u201c\u201d\u2018\u2019\u2026"


class Part(NamedTuple):
    """A sub-signal: its score from 0 to 1, and in words what was found."""

    score: float
    found: str


@dataclass(frozen=True, slots=True)
class RoundReadiness:
    """How ready one round is."""

    round: int
    next_actions: Part
    open_questions: Part
    blockers: Part
    blocker: str | None  # the first question or action that reports a blocker
    value: float  # 0 to 1, unrounded
    level: Level
    other_senses: tuple[str, ...] = ()  # questions and actions with a blocker word in another sense

    def parts(self) -> dict[str, Part]:
        """Return the sub-signals by name."""
        return {"next actions": self.next_actions, "open questions": self.open_questions, "blockers": self.blockers}


@dataclass(frozen=True, slots=True)
class AddedWord:
    """A word that the settings add to a list and that matched in a round, so that a result can be traced to it."""

    list: str
    word: str
    round: int


class ReadinessMeter:
    """Measures readiness by the lists of a profile and the words that settings add to them."""

    def __init__(self, profile: Profile = DEFAULT, added: Words = BUILT_IN) -> None:
        self._profile, self._added = profile, added
        joined = {f.name: getattr(profile.words, f.name) + getattr(added, f.name) for f in fields(Words)}
        self._words = Words(**joined)
        self._alternatives = frozenset(profile.alternatives)

    def measure(
        self, number: int, actions: Sequence[str], questions: Sequence[str], before: int | None
    ) -> RoundReadiness:
        """Return the readiness of a round; ``before`` counts the questions of the round before, None without one."""
        acting, asking = self.rate_actions(actions), rate_questions(len(questions), before)
        blocker = self.find_blocker((*questions, *actions))
        blocking = [text for text in (*questions, *actions) if has_word_start(self._words.blockers, plain(text))]
        otherwise = tuple(blocking) if blocker is None else ()
        free = "no blocker"
        if otherwise:
            free += f"; a word of the blocker list has another sense in {quote(cut(otherwise[0], _QUOTED))}"
        blocked = Part(1.0, free) if blocker is None else Part(0.0, "a blocker")
        value = ACTIONS_WEIGHT * acting.score + QUESTIONS_WEIGHT * asking.score + BLOCKERS_WEIGHT * blocked.score
        level = self._profile.thresholds.readiness_level(value)
        return RoundReadiness(number, acting, asking, blocked, blocker, value, level, otherwise)

    def rate_actions(self, actions: Sequence[str]) -> Part:
        """Rate next actions: none 0; none specific 0.3; one specific 0.7; several specific and an owner named 1."""
        if not actions:
            return Part(0.0, "no next action")
        specific = sum(map(self.is_specific, actions))
        if not specific:
            return Part(0.3, "no next action is specific")
        if specific == 1:
            return Part(0.7, "one next action is specific")
        if not any(map(self.is_owned, actions)):
            return Part(0.7, f"{specific} next actions are specific, but none says who acts")
        return Part(1.0, f"{specific} next actions are specific, and it is said who acts")

    def find_blocker(self, texts: Sequence[str]) -> str | None:
        """Return the first question or action that reports a blocker."""
        return next((text for text in texts if self._reports_blocker(plain(text))), None)

    def _reports_blocker(self, text: str) -> bool:
        found = _pattern(self._words.blockers, "").finditer(text) if self._words.blockers else ()
        return any(not (self._profile.sentences and _in_another_sense(match)) for match in found)

    def has_verb(self, action: str) -> bool:
        """Return whether an action has a verb of the list, as a whole word."""
        return has_word(self._words.verbs, plain(action))

    def is_vague(self, action: str) -> bool:
        """Return whether an action starts vaguely, has a vague word, or is short and without a verb of the list."""
        text = plain(action)
        if starts_with(self._words.vague_starts, text) or has_word(self._words.vague, text):
            return True
        if self._profile.sentences and len(text.split()) == 1 and (_FILE.search(action) or _BARE_FILES.search(action)):
            return False
        return len(text.split()) < self._profile.short_action and not self.has_verb(action)

    def is_specific(self, action: str) -> bool:
        """Return whether an action is not vague, and has a verb of the list or names something concrete."""
        return not self.is_vague(action) and (self.has_verb(action) or self.names_artifact(action))

    def is_owned(self, action: str) -> bool:
        """Return whether an action says who acts: a phrase of the list, ``@name``, ``Name:`` or ``Name will``."""
        if has_word(self._words.ownership, plain(action)) or _HANDLE.search(action):
            return True
        named = _NAMED.match(action)
        if named is not None and named[1][0].isupper():
            return True
        acting = _WILL.match(action) if self._profile.sentences else None
        return acting is not None and acting[1][0].isupper() and acting[1].casefold() not in _NOBODY

    def names_artifact(self, action: str) -> bool:
        """Return whether an action names a URL, path, file, something in backticks, ``#123``, or a word for such."""
        return (
            any(pattern.search(action) for pattern in (_WEB, _FILE, _NUMBERED))
            or any(_SCHEME.search(action, run.start(1), run.end(1)) for run in _ADDRESS.finditer(action))
            or any(part.strip() for part in action.split("`")[1:-1])
            or any(map(self._is_path, action.split()))
            or has_word(self._profile.artifacts, plain(action))
            or (self._profile.sentences and _BARE_FILES.search(action) is not None)
        )

    def _is_path(self, token: str) -> bool:
        if "/" not in token:
            return False
        bare = token.strip(_PUNCTUATION)
        return bare.casefold() not in self._alternatives and any(char.isalpha() for char in bare)

    def added_words(self, number: int, actions: Sequence[str], questions: Sequence[str]) -> list[AddedWord]:
        """Return the added words that matched in a round, in the order of the lists."""
        found = []
        for name, (matches, everywhere) in _LISTS.items():
            texts = [plain(text) for text in ((*questions, *actions) if everywhere else actions)]
            words = dict.fromkeys(getattr(self._added, name))
            matched = [word for word in words if any(matches((word,), text) for text in texts)]
            found += [AddedWord(name, word, number) for word in matched]
        return found


def _in_another_sense(found: re.Match[str]) -> bool:
    """Return whether a blocker word only describes what something is done about: "handling of missing values"."""
    if found[0] not in _BEFORE_A_NOUN or found.string[found.end() : found.end() + 1] != " ":
        return False
    if _WITHHELD.match(found.string, found.end()):
        return False
    return _TREATED.search(found.string, max(0, found.start() - _NEAR), found.start()) is not None


def rate_questions(count: int, before: int | None) -> Part:
    """Rate open questions: none 1; fewer than the round before 0.7; as many 0.4; more 0.1; some at the start 0.3."""
    if not count:
        return Part(1.0, "no open question")
    named = counted(count, "open question")
    if before is None:
        return Part(0.3, f"{named} in the first round")
    if count < before:
        return Part(0.7, f"{named}, fewer than the {before} of the round before")
    if count == before:
        return Part(0.4, f"{named}, as many as in the round before")
    return Part(0.1, f"{named}, more than the {before} of the round before")


def plain(text: str) -> str:
    """Return text as phrases are matched in it: case folded, single spaces, straight apostrophes."""
    return " ".join(text.translate(_APOSTROPHES).casefold().split())


def has_word(words: tuple[str, ...], text: str, end: str = r"(?!\w)") -> bool:
    """Return whether :func:`plain` text has one of some words or phrases, as a whole unless ``end`` says otherwise."""
    return bool(words) and _pattern(words, end).search(text) is not None


has_word_start = functools.partial(has_word, end="")  # from a left word boundary on


def starts_with(words: tuple[str, ...], text: str) -> bool:
    """Return whether :func:`plain` text starts with one of some words or phrases."""
    return text.startswith(tuple(map(plain, words)))


@functools.cache
def _pattern(words: Iterable[str], end: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(plain(word)) for word in words)}){end}")


# how the words of each list match, and whether open questions are searched as well as next actions
_LISTS: dict[str, tuple[Callable[[tuple[str, ...], str], bool], bool]] = {
    "verbs": (has_word, False),
    "vague_starts": (starts_with, False),
    "vague": (has_word, False),
    "blockers": (has_word_start, True),
    "ownership": (has_word, False),
}
