"""What a prompt says of the last work: that it is wrong, or nothing; the forms are data (``corrections.toml``).

``docs/EVIDENCE.md``, "Corrections", says what counts. Nothing of a prompt is kept.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

DATA = Path(__file__).parent / "corrections.toml"

Said: TypeAlias = Literal["wrong", "report", "unknown", ""]
"""That the last work is wrong; what a program or a reviewer said; another language than English; nothing of this."""

PROMPT_LIMIT, OWN_LIMIT = 20_000, 400
"""How many characters of a prompt are looked at, and of what the person wrote in it: a correction comes first."""

_LINE_LIMIT = 200
_REVIEW_WORDS = 30  # a text this long without "I", "you" or "we" may be a review

_TAGS = re.compile(r"<([a-z]+[_-][a-z_-]+)\b[^>]*>.*?</\1>", re.DOTALL)
_REQUEST = re.compile(r"\A# context from my ide setup:.*^## my request for codex:", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"([\"`])[^\"`\n]*\1")
_ASIDE = re.compile(r"(?<=\S) *\([^()\n]*\)")
_QUOTED = re.compile(r'```.*?(?:```|\Z)|""".*?(?:"""|\Z)|^[ \t]*>.*?$|"[^"\n]{40,}"', re.DOTALL | re.MULTILINE)
_CLAUSE = re.compile(r"([^.,:;!?\n–—()]+(?:[.:]\w[^.,:;!?\n–—()]*)*)([.,:;!?\n–—()]*)")
_NO = re.compile(r"(?:(?<=[.!?\n])|\A)\s*(?:(?:no|nope)\b[\s,.!:;–—-]+|(?=not\b))")  # at the beginning of a sentence
_END = frozenset(".!?\n;")
_ASKS = re.compile(r"(?:can|could|would|will|should|do|does|did|is|are|any|what|how|why|where|when|which|who)\b")
_LEAD = re.compile(r"\A[^:]{1,160}:\s+")  # what a person says in front of what is shown
_SPEAKS = re.compile(r"\b(?:i|i'm|i'd|i've|you|we|me|my|our|us|let's)\b")
_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u00a0", "''\"\" ")
_LATIN = "\u024f"  # the last of the Latin letters


class _Forms(NamedTuple):
    """The forms, compiled; each is described in the data."""

    spellings: list[tuple[str, str]]
    softeners: re.Pattern[str]
    openers: re.Pattern[str]
    templates: re.Pattern[str]
    guards: re.Pattern[str]
    clauses: re.Pattern[str]
    questions: re.Pattern[str]
    output: re.Pattern[str]
    reviews: re.Pattern[str]
    impersonal: re.Pattern[str]
    english: frozenset[str]
    other: frozenset[str]


@cache
def _forms() -> _Forms:
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    pasted, languages = data["pasted"], data["languages"]
    return _Forms(
        [(found, said) for found, said in data["spellings"]],
        _any_of(data["softeners"]),
        _any_of(data["openers"]),
        _any_of(data["not_by_a_person"]),
        _any_of(data["guards"]),
        _any_of(chain.from_iterable(data["clauses"].values())),
        _any_of(chain.from_iterable(data["questions"].values())),
        _any_of(pasted["output"]),
        _any_of(pasted["reviews"]),
        _any_of(pasted["impersonal"]),
        frozenset(languages["english"].split()),
        frozenset(languages["other"].split()),
    )


def _any_of(forms: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{form})" for form in forms), re.MULTILINE)


def said_in(prompt: str) -> Said:
    """Return what a prompt says of the last work; "" too for what a harness or a template wrote."""
    forms = _forms()
    text = prompt[:PROMPT_LIMIT].translate(_STRAIGHT).lower()
    text = _REQUEST.sub("", _TAGS.sub("", text) if "</" in text else text).strip()
    if not text or forms.templates.match(text):
        return ""
    own = _own_words(text)
    if _is_foreign(own):
        return "unknown"
    shown = _LEAD.sub("", own)
    long = len(shown.split()) >= _REVIEW_WORDS
    if forms.reviews.search(own) or (long and forms.impersonal.search(shown) and not _SPEAKS.search(shown)):
        return "report"
    if any(_corrects(clause, question) for clause, question in _clauses(own[:OWN_LIMIT])):
        return "wrong"
    return "report" if any(map(_is_output, text.split("\n"))) else ""


def asks(reason: str) -> bool:
    """Whether the reason of a refusal is a question, and not one that says that something is wrong."""
    return "?" in reason and said_in(reason) != "wrong"


def _own_words(text: str) -> str:
    """Return what of a text the person wrote: without quotations, and without what looks like output."""
    lines = _QUOTED.sub("\n", text).split("\n")
    printed = [number for number, line in enumerate(lines) if _is_output(line)]
    if printed:
        lines[printed[0] : printed[-1] + 1] = [""]
    return "\n".join(lines).strip()


def _is_output(line: str) -> bool:
    """Whether a line looks like what a program prints; a long one is known by its beginning."""
    return _forms().output.search(line[:_LINE_LIMIT]) is not None


def _is_foreign(text: str) -> bool:
    """Whether a text is in another language than English, as far as its letters or its small words say so."""
    letters = [letter for letter in text if letter.isalpha()]
    if sum(letter > _LATIN for letter in letters) * 4 > len(letters):
        return True
    words, forms = re.findall(r"\w+", text), _forms()
    other = sum(word in forms.other for word in words)
    return other > 1 and other > sum(word in forms.english for word in words)


def _clauses(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the clauses of a text as the forms know them, each with whether it asks, by the end of its sentence."""
    forms = _forms()
    text = _ASIDE.sub("", _INLINE.sub(r"\1x\1", text))
    for spelling, said in forms.spellings:
        text = re.sub(spelling, said, text)
    sentence: list[str] = []
    for clause, mark in _CLAUSE.findall(_NO.sub("\nno ", text) + "\n"):
        plain = forms.softeners.sub("", " ".join(clause.split()))
        opened = forms.openers.match(plain)
        sentence.append(plain[opened.end() if opened else 0 :].strip())
        if not mark or not _END.isdisjoint(mark):
            own = len(sentence) > 1 and _ASKS.match(sentence[-1])  # a question behind a statement
            asking = 0 if "?" not in mark else 1 if own else len(sentence)
            yield from ((one, n >= len(sentence) - asking) for n, one in enumerate(sentence))
            sentence = []


def _corrects(clause: str, question: bool) -> bool:
    """Whether a clause says that the last work is wrong."""
    forms = _forms()
    if forms.questions.search(clause):
        return True
    found = None if question else forms.clauses.search(clause)
    return found is not None and not forms.guards.search(clause, 0, found.start())
