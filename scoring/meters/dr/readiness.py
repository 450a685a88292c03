"""How ready a round is to act, by its next actions, its open questions and its blockers.

Readiness is 0.5 next actions + 0.3 open questions + 0.2 blockers. Words match in any case.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from scoring.meters import Level
from scoring.meters.dr.phrases import has_word, has_word_start, pattern_of, plain, starts_with
from scoring.meters.dr.profile import BUILT_IN, DEFAULT, Profile, Words
from scoring.text import counted, cut, quote

ACTIONS_WEIGHT = 0.5
QUESTIONS_WEIGHT = 0.3
BLOCKERS_WEIGHT = 0.2

_PUNCTUATION = ".,;:!?\"'()[]{}<>*_\u201c\u201d\u2018\u2019\u2026"
_QUOTED_LENGTH = 120

# Who acts.
_HANDLE = re.compile(r"(?<!\w)@\w")
_LEADING_NAME = re.compile(r"\s*([^\W\d_][\w'\u2019-]*):(?!//)")
_NAME = re.compile(r"[^\W\d_][^\W\d_'\u2019-]*(?:['\u2019-][^\W\d_]+)*")
# What Markdown puts before an action.
_BULLET = re.compile(r"[\s*_>\[-]*(?:\d{1,3}[.)]\s+)?[\s*_\[]*")
# "Anna (ops): …", "the platform team will …".
_ACTOR = re.compile(
    r"(?:the )?([^\W\d_][^\s:,()\[\]*]*(?: [^\s:,()\[\]*]+){0,3}?)(?: \([^()]*\))?"
    r"[*_\]]*(?::(?!//)| +will(?! not)(?!\w))",
    re.IGNORECASE,
)
_BETWEEN_NAMES = re.compile(r" (?:and|&|\+) |/")
_OWNER = re.compile(
    r"(?<!\w)(?:(?<!no )(?:owners?|assignees?|dri) ?(?::|=|-|is|are)|owned by|"
    r"assign(?:ed)? to|(?:responsible|assigned) ?:) ?@?(?:the )?(\w[\w'-]*)(?: (\w+))?"
)
_TITLES = frozenset(("dr", "mr", "mrs", "ms", "prof"))
_LABEL_ENDINGS = tuple(
    "tion tions sion sions ness ing ings ally ately ently ously ively ility "
    "ality ment ments ated ized ised ified ected sted osed ible less ware point".split()
)
_LONGEST_SURE_NAME = 6
"""Up to so many letters a word is a name even with such an ending."""

# Something concrete.
_WEB = re.compile(r"(?<!\w)www\.\w", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<![a-z0-9+.-])([a-z0-9+.-]++)://\w", re.IGNORECASE)
_SCHEME = re.compile(r"(?<!\w)[a-z]", re.IGNORECASE)
_FILE = re.compile(r"\w\w\.(?=\d*[^\W\d_])[^\W_]{1,5}(?!\w)")
_NUMBERED = re.compile(r"(?<!\w)#\d+(?!\w)")
# Files that are known by a name without an ending.
_BARE_FILES = re.compile(
    r"(?<![\w./-])(?:Makefile|GNUmakefile|Dockerfile|Containerfile|Justfile|Jenkinsfile|Procfile|"
    r"Vagrantfile|Gemfile|Rakefile|README|LICENSE|CHANGELOG|CODEOWNERS)(?![\w-])"
)

# "add the missing test": the word only describes a thing that something is done about. It does
# report a blocker in "missing access", where the thing is withheld.
_OTHER_SENSE = re.compile(
    r"(?<=\w )(?:missing|blocked) (?!(?:by|on|until|from|in|at|and|or|(?:\w+ )?(?:access|"
    r"permissions?|credentials?|keys?|tokens?|approvals?|rights|sign-offs?|budget))(?!\w))\w"
)


class Part(NamedTuple):
    """A sub-signal of readiness.

    Attributes:
        score: 0 to 1.
        found: the reason for the score, in words.
    """

    score: float
    found: str


@dataclass(frozen=True, slots=True)
class RoundReadiness:
    """How ready one round is.

    Attributes:
        round: the number of the round.
        next_actions: what its next actions count.
        open_questions: what its open questions count.
        blockers: what its blockers count.
        blocker: the first question or action that reports a blocker.
        value: readiness, 0 to 1, not rounded.
        level: the class of the value.
        question: the first open question.
    """

    round: int
    next_actions: Part
    open_questions: Part
    blockers: Part
    blocker: str | None
    value: float
    level: Level
    question: str | None = None

    def parts(self) -> dict[str, Part]:
        """Return the sub-signals by name."""
        return {
            "next actions": self.next_actions,
            "open questions": self.open_questions,
            "blockers": self.blockers,
        }


@dataclass(frozen=True, slots=True)
class AddedWord:
    """A word of the settings that matched in a round, so that a result can be traced to it.

    Attributes:
        list: the word list that the settings add it to.
        word: the word as the settings have it.
        round: the number of the round.
    """

    list: str
    word: str
    round: int


class ReadinessMeter:
    """Measures readiness.

    Args:
        profile: the word lists and thresholds.
        added: the words that settings add to the lists.
    """

    def __init__(self, profile: Profile = DEFAULT, added: Words = BUILT_IN) -> None:
        self._profile = profile
        self._added = added
        self._words = Words(
            **{
                f.name: getattr(profile.words, f.name) + getattr(added, f.name)
                for f in fields(Words)
            }
        )

    def measure(
        self,
        number: int,
        actions: Sequence[str],
        questions: Sequence[str],
        questions_before: int | None,
    ) -> RoundReadiness:
        """Return the readiness of a round.

        Args:
            number: the number of the round.
            actions: its next actions.
            questions: its open questions.
            questions_before: how many questions the round before had; None without such a round.
        """
        rated_actions = self.rate_actions(actions)
        rated_questions = rate_questions(len(questions), questions_before)

        blocker = self.find_blocker([*questions, *actions])
        if blocker is None:
            rated_blockers = Part(1.0, "no blocker")
        else:
            rated_blockers = Part(0.0, self._describe_blocker(blocker))

        value = (
            ACTIONS_WEIGHT * rated_actions.score
            + QUESTIONS_WEIGHT * rated_questions.score
            + BLOCKERS_WEIGHT * rated_blockers.score
        )
        return RoundReadiness(
            round=number,
            next_actions=rated_actions,
            open_questions=rated_questions,
            blockers=rated_blockers,
            blocker=blocker,
            value=value,
            level=self._profile.thresholds.readiness_level(value),
            question=questions[0] if questions else None,
        )

    def rate_actions(self, actions: Sequence[str]) -> Part:
        """Rate next actions.

        No action is 0, none that is specific 0.3, one specific 0.7, and several specific ones are 1
        when any action says who acts and 0.7 otherwise.
        """
        if not actions:
            return Part(0.0, "no next action")

        specific = sum(self.is_specific(action) for action in actions)
        if not specific:
            return Part(0.3, "no next action is specific")
        if specific == 1:
            return Part(0.7, "one next action is specific")
        if not any(self.is_owned(action) for action in actions):
            return Part(0.7, f"{specific} next actions are specific, but none says who acts")
        return Part(1.0, f"{specific} next actions are specific, and it is said who acts")

    # Blockers

    def find_blocker(self, texts: Sequence[str]) -> str | None:
        """Return the first text with a word of the blocker list, whatever its sentence means."""
        for text in texts:
            if has_word_start(self._words.blockers, self._without_marks(text)):
                return text
        return None

    def _describe_blocker(self, blocker: str) -> str:
        if self._profile.sentences and self._may_have_other_sense(blocker):
            quoted = quote(cut(blocker, _QUOTED_LENGTH))
            return f"a blocker; if its word has another sense in {quoted}, say it in other words"
        return "a blocker"

    def _may_have_other_sense(self, blocker: str) -> bool:
        """Return whether every word of the list in a text only describes a thing."""
        text = self._without_marks(blocker)
        matches = pattern_of(self._words.blockers, "").finditer(text)
        return all(_OTHER_SENSE.match(text, match.start()) for match in matches)

    def _without_marks(self, text: str) -> str:
        """Return plain text in which Markdown's underscores do not belong to words."""
        if self._profile.sentences:
            text = text.replace("_", " ")
        return plain(text)

    # Specific and vague actions

    def is_specific(self, action: str) -> bool:
        """Return whether an action is not vague, and says what is done or names a thing."""
        if self.is_vague(action):
            return False
        return self.has_verb(action) or self.names_artifact(action)

    def has_verb(self, action: str) -> bool:
        """Return whether an action has a verb of the list, as a whole word."""
        return has_word(self._words.verbs, plain(action))

    def is_vague(self, action: str) -> bool:
        """Return whether an action is vague.

        It starts vaguely, has a vague word, or is short and has no verb of the list.
        """
        text = plain(action)
        if starts_with(self._words.vague_starts, text) or has_word(self._words.vague, text):
            return True

        count = len(text.split())
        if self._profile.sentences and self._is_concrete(action, count):
            return False
        return count < self._profile.short_action and not self.has_verb(action)

    def _is_concrete(self, action: str, count: int) -> bool:
        """Return whether an action of ``count`` words names a file alone, or a tool and a use."""
        if count == 1:
            return bool(_FILE.search(action) or _BARE_FILES.search(action))
        return has_word(self._profile.tools, plain(action))

    def names_artifact(self, action: str) -> bool:
        """Return whether an action names something concrete.

        That is a URL, path, file or tool, text in backticks, ``#123``, or a word for such a thing.
        """
        if _WEB.search(action) or _FILE.search(action) or _NUMBERED.search(action):
            return True
        if self._profile.sentences and _BARE_FILES.search(action):
            return True
        if _has_address(action) or _has_backticks(action):
            return True
        if any(self._is_path(token) for token in action.split()):
            return True
        return has_word(self._profile.artifacts + self._profile.tools, plain(action))

    def _is_path(self, token: str) -> bool:
        if "/" not in token:
            return False
        bare = token.strip(_PUNCTUATION)
        if bare.casefold() in self._profile.alternatives:
            return False
        return any(char.isalpha() for char in bare)

    # Owners

    def is_owned(self, action: str) -> bool:
        """Return whether an action says who acts.

        It has a handle (``@name``), a phrase of the list, or names a person, role or team.
        """
        text = plain(action)
        if has_word(self._words.ownership, text) or _HANDLE.search(action):
            return True

        if not self._profile.sentences:
            name = _LEADING_NAME.match(action)
            return name is not None and name[1][0].isupper()
        return self._states_owner(text) or self._begins_with_actor(action)

    def _states_owner(self, text: str) -> bool:
        """Return whether plain text has ``owner: …`` or the like, with an owner."""
        not_owners = (*self._profile.labels, *self._words.verbs)
        for match in _OWNER.finditer(text):
            if match[1] not in not_owners or match[2] in self._profile.teams:
                return True
        return False

    def _begins_with_actor(self, action: str) -> bool:
        """Return whether an action begins with who acts, and a colon or "will"."""
        bullet = _BULLET.match(action)
        assert bullet is not None  # it may be empty
        actor = _ACTOR.match(action, bullet.end())
        if actor is None:
            return False
        return any(self._may_act(name.split()) for name in _BETWEEN_NAMES.split(actor[1]))

    def _may_act(self, words: Sequence[str]) -> bool:
        """Return whether some words name a person, role or team."""
        folded = [word.casefold().strip(".") for word in words]

        if len(words) > 1 and (len(words[-1]) == 1 or words[-1].isdigit()):  # "Agent 2", "Team B"
            words = words[:-1]
            folded = folded[:-1]
            if len(words) == 1 and folded[0] not in self._profile.teams:
                return False

        if not folded or folded[0] in self._profile.addressed or _ends_sentence(words, folded):
            return False
        if self._is_team(folded):
            return True

        names = words
        if len(words) > 1 and folded[0] in _TITLES:
            names = words[1:]
        return len(names) in (1, 2) and all(self._is_name(name) for name in names)

    def _is_team(self, folded: Sequence[str]) -> bool:
        if folded[-1] not in self._profile.teams:
            return False
        return len(folded) > 1 or folded[0] not in self._profile.labels

    def _is_name(self, word: str) -> bool:
        if not word[0].isupper() or not _NAME.fullmatch(word):
            return False
        if word.isupper() and len(word) > 1:
            return False

        folded = word.casefold()
        if folded in (*self._profile.labels, *self._words.verbs, *self._profile.tools):
            return False
        return len(word) <= _LONGEST_SURE_NAME or not folded.endswith(_LABEL_ENDINGS)

    # Words of the settings

    def added_words(
        self,
        number: int,
        actions: Sequence[str],
        questions: Sequence[str],
    ) -> list[AddedWord]:
        """Return the words of the settings that matched in a round, in the order of the lists."""
        matched = []
        for name, search in _SEARCHES.items():
            searched = [*questions, *actions] if search.in_questions else actions
            texts = [plain(text) for text in searched]
            for word in dict.fromkeys(getattr(self._added, name)):
                if any(search.matches((word,), text) for text in texts):
                    matched.append(AddedWord(name, word, number))
        return matched


def _has_address(action: str) -> bool:
    """Return whether a text has an address with a scheme, such as ``ssh://host``."""
    for match in _ADDRESS.finditer(action):
        if _SCHEME.search(action, match.start(1), match.end(1)):
            return True
    return False


def _has_backticks(action: str) -> bool:
    return any(part.strip() for part in action.split("`")[1:-1])


def _ends_sentence(words: Sequence[str], folded: Sequence[str]) -> bool:
    """Return whether a word ends with a stop and is not a title."""
    for word, folded_word in zip(words, folded, strict=True):
        if word.endswith(".") and folded_word not in _TITLES:
            return True
    return False


def rate_questions(count: int, before: int | None) -> Part:
    """Rate open questions.

    None is 1, fewer than in the round before 0.7, as many 0.4 and more 0.1. Questions in the first
    round are 0.3.

    Args:
        count: how many questions the round has.
        before: how many the round before had; None for the first round.
    """
    if not count:
        return Part(1.0, "no open question")

    questions = counted(count, "open question")
    if before is None:
        return Part(0.3, f"{questions} in the first round")
    if count < before:
        return Part(0.7, f"{questions}, fewer than the {before} of the round before")
    if count == before:
        return Part(0.4, f"{questions}, as many as in the round before")
    return Part(0.1, f"{questions}, more than the {before} of the round before")


class _Search(NamedTuple):
    """How the words of a list match, and whether open questions are searched besides actions."""

    matches: Callable[[tuple[str, ...], str], bool]
    in_questions: bool


_SEARCHES = {
    "verbs": _Search(has_word, in_questions=False),
    "vague_starts": _Search(starts_with, in_questions=False),
    "vague": _Search(has_word, in_questions=False),
    "blockers": _Search(has_word_start, in_questions=True),
    "ownership": _Search(has_word, in_questions=False),
}
