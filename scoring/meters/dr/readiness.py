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
_NAME = re.compile(r"[^\W\d_][^\W\d_'\u2019-]*(?:['\u2019-][^\W\d_]+)*")
_WEB = re.compile(r"(?<!\w)www\.\w", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<![a-z0-9+.-])([a-z0-9+.-]++)://\w", re.IGNORECASE)
_SCHEME = re.compile(r"(?<!\w)[a-z]", re.IGNORECASE)
_FILE = re.compile(r"\w\w\.(?=\d*[^\W\d_])[^\W_]{1,5}(?!\w)")
_NUMBERED = re.compile(r"(?<!\w)#\d+(?!\w)")
_BULLET = re.compile(
    r"[\s*_>\[-]*(?:\d{1,3}[.)]\s+)?[\s*_\[]*"
)  # what Markdown puts before an action
_ACTING = re.compile(
    r"(?:the )?([^\W\d_][^\s:,()\[\]*]*(?: [^\s:,()\[\]*]+){0,3}?)(?: \([^()]*\))?"
    r"[*_\]]*(?::(?!//)| +will(?! not)(?!\w))",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r" (?:and|&|\+) |/")  # between names
_OWNER = re.compile(
    r"(?<!\w)(?:(?<!no )(?:owners?|assignees?|dri) ?(?::|=|-|is|are)|owned by|assign(?:ed)? to|"
    r"(?:responsible|assigned) ?:) ?@?(?:the )?(\w[\w'-]*)(?: (\w+))?"
)
_TITLES = frozenset(("dr", "mr", "mrs", "ms", "prof"))
_LABEL_ENDINGS = (
    *(
        "tion",
        "tions",
        "sion",
        "sions",
        "ness",
        "ing",
        "ings",
        "ally",
        "ately",
        "ently",
        "ously",
        "ively",
        "ility",
    ),
    *(
        "ality",
        "ment",
        "ments",
        "ated",
        "ized",
        "ised",
        "ified",
        "ected",
        "sted",
        "osed",
        "ible",
        "less",
        "ware",
    ),
    "point",
)
_BARE_FILES = re.compile(  # files that are known by a name without an ending
    r"(?<![\w./-])(?:Makefile|GNUmakefile|Dockerfile|Containerfile|Justfile|Jenkinsfile|Procfile|Vagrantfile|Gemfile|"
    r"Rakefile|README|LICENSE|CHANGELOG|CODEOWNERS)(?![\w-])"
)
_OTHER_SENSE = re.compile(  # it only describes a thing that something is done about, and not one that is withheld
    r"(?<=\w )(?:missing|blocked) (?!(?:by|on|until|from|in|at|and|or|(?:\w+ )?(?:access|permissions?|credentials?|"
    r"keys?|tokens?|approvals?|rights|sign-offs?|budget))(?!\w))\w"
)
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
    question: str | None = None  # the first open question

    def parts(self) -> dict[str, Part]:
        """Return the sub-signals by name."""
        return {
            "next actions": self.next_actions,
            "open questions": self.open_questions,
            "blockers": self.blockers,
        }


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
        self._words = Words(
            *(getattr(profile.words, f.name) + getattr(added, f.name) for f in fields(Words))
        )

    def measure(
        self, number: int, actions: Sequence[str], questions: Sequence[str], before: int | None
    ) -> RoundReadiness:
        """Return the readiness of a round; ``before`` counts the questions of the round before, None without one."""
        acting, asking = self.rate_actions(actions), rate_questions(len(questions), before)
        blocker = self.find_blocker((*questions, *actions))
        blocked = (
            Part(1.0, "no blocker")
            if blocker is None
            else Part(0.0, self._blocker_in_words(blocker))
        )
        value = (
            ACTIONS_WEIGHT * acting.score
            + QUESTIONS_WEIGHT * asking.score
            + BLOCKERS_WEIGHT * blocked.score
        )
        level = self._profile.thresholds.readiness_level(value)
        return RoundReadiness(
            number, acting, asking, blocked, blocker, value, level, next(iter(questions), None)
        )

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
        """Return the first question or action with a word of the blocker list, whatever its sentence means."""
        return next(
            (text for text in texts if has_word_start(self._words.blockers, self._unmarked(text))),
            None,
        )

    def _unmarked(self, text: str) -> str:
        return plain(
            text.replace("_", " ") if self._profile.sentences else text
        )  # Markdown's, and no part of a word

    def _blocker_in_words(self, blocker: str) -> str:
        found = _pattern(self._words.blockers, "").finditer(text := self._unmarked(blocker))
        if self._profile.sentences and all(
            _OTHER_SENSE.match(text, word.start()) for word in found
        ):
            return f"a blocker; if its word has another sense in {quote(cut(blocker, _QUOTED))}, say it in other words"
        return "a blocker"

    def has_verb(self, action: str) -> bool:
        """Return whether an action has a verb of the list, as a whole word."""
        return has_word(self._words.verbs, plain(action))

    def is_vague(self, action: str) -> bool:
        """Return whether an action starts vaguely, has a vague word, or is short and without a verb of the list."""
        text = plain(action)
        if _starts_with(self._words.vague_starts, text) or has_word(self._words.vague, text):
            return True
        count = len(text.split())
        if (
            self._profile.sentences
        ):  # a file alone, or a tool with anything done to it, is concrete enough
            if count == 1 and (_FILE.search(action) or _BARE_FILES.search(action)):
                return False
            if count > 1 and has_word(self._profile.tools, text):
                return False
        return count < self._profile.short_action and not self.has_verb(action)

    def is_specific(self, action: str) -> bool:
        """Return whether an action is not vague, and has a verb of the list or names something concrete."""
        return not self.is_vague(action) and (self.has_verb(action) or self.names_artifact(action))

    def is_owned(self, action: str) -> bool:
        """Return whether an action says who acts: ``@name``, a phrase of the list, or a person, role or team."""
        if has_word(self._words.ownership, text := plain(action)) or _HANDLE.search(action):
            return True
        if not self._profile.sentences:
            named = _NAMED.match(action)
            return named is not None and named[1][0].isupper()
        no_owner, teams = (*self._profile.labels, *self._words.verbs), self._profile.teams
        if any(found[1] not in no_owner or found[2] in teams for found in _OWNER.finditer(text)):
            return True
        acting = _ACTING.match(action, _BULLET.match(action).end())  # type: ignore[union-attr]  # it may be empty
        return acting is not None and any(
            self._may_act(part.split()) for part in _SEVERAL.split(acting[1])
        )

    def _may_act(self, words: Sequence[str]) -> bool:
        plainly = [word.casefold().strip(".") for word in words]
        if len(words) > 1 and (len(words[-1]) == 1 or words[-1].isdigit()):  # "Agent 2", "Team B"
            words, plainly = words[:-1], plainly[:-1]
            if len(words) == 1 and plainly[0] not in self._profile.teams:
                return False
        ends = any(
            word.endswith(".") and small not in _TITLES
            for word, small in zip(words, plainly, strict=True)
        )
        if ends or not plainly or plainly[0] in self._profile.addressed:
            return False
        if plainly[-1] in self._profile.teams and (
            len(words) > 1 or plainly[0] not in self._profile.labels
        ):
            return True
        named = words[1:] if len(words) > 1 and plainly[0] in _TITLES else words
        return len(named) in (1, 2) and all(map(self._is_name, named))

    def _is_name(self, word: str) -> bool:
        if not (word[0].isupper() and _NAME.fullmatch(word)) or (word.isupper() and len(word) > 1):
            return False
        small = word.casefold()
        known = (*self._profile.labels, *self._words.verbs, *self._profile.tools)
        return small not in known and not (len(word) > 6 and small.endswith(_LABEL_ENDINGS))

    def names_artifact(self, action: str) -> bool:
        """Return whether an action names a URL, path, file, tool, text in backticks, ``#123``, or a word for such."""
        return (
            any(pattern.search(action) for pattern in (_WEB, _FILE, _NUMBERED))
            or any(
                _SCHEME.search(action, run.start(1), run.end(1))
                for run in _ADDRESS.finditer(action)
            )
            or any(part.strip() for part in action.split("`")[1:-1])
            or any(map(self._is_path, action.split()))
            or has_word(self._profile.artifacts + self._profile.tools, plain(action))
            or (self._profile.sentences and _BARE_FILES.search(action) is not None)
        )

    def _is_path(self, token: str) -> bool:
        if "/" not in token:
            return False
        bare = token.strip(_PUNCTUATION)
        return bare.casefold() not in self._profile.alternatives and any(map(str.isalpha, bare))

    def added_words(
        self, number: int, actions: Sequence[str], questions: Sequence[str]
    ) -> list[AddedWord]:
        """Return the added words that matched in a round, in the order of the lists."""
        found = []
        for name, (matches, everywhere) in _LISTS.items():
            texts = [plain(text) for text in ((*questions, *actions) if everywhere else actions)]
            words = dict.fromkeys(getattr(self._added, name))
            matched = [word for word in words if any(matches((word,), text) for text in texts)]
            found += [AddedWord(name, word, number) for word in matched]
        return found


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


def _starts_with(words: tuple[str, ...], text: str) -> bool:
    return text.startswith(tuple(map(plain, words)))


@functools.cache
def _pattern(words: Iterable[str], end: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(plain(word)) for word in words)}){end}")


# how the words of each list match, and whether open questions are searched as well as next actions
_LISTS: dict[str, tuple[Callable[[tuple[str, ...], str], bool], bool]] = {
    "verbs": (has_word, False),
    "vague_starts": (_starts_with, False),
    "vague": (has_word, False),
    "blockers": (has_word_start, True),
    "ownership": (has_word, False),
}
