"""What a prompt says of the last work: that it is wrong, or nothing (``docs/EVIDENCE.md``, "Corrections")."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

DATA = Path(__file__).parent / "corrections.toml"

Said: TypeAlias = Literal["wrong", "report", "unknown", ""]
"""That the last work is wrong; what a program or a reviewer said; another language than English; nothing of this."""

HEAD_LIMIT, TAIL_LIMIT, OWN_LIMIT, LONG_LIMIT = 6_000, 1_000, 300, 80
"""How many characters are looked at where a prompt begins and ends, of a person's words, and where these are more."""

_LINE_LIMIT, _LANGUAGE_LIMIT = 200, 600  # characters that show what a line is, and the language
_REVIEW_WORDS = 20  # of what may be a review

_TAGS = re.compile(r"<([a-z]+[_-][a-z_-]+)\b[^>]*>.*?</\1>", re.DOTALL)
_REQUEST = re.compile(
    r"\A# context from my ide setup:.*^## my request for codex:", re.DOTALL | re.MULTILINE
)
_QUOTED = re.compile(
    r'```.*?(?:```|\Z)|""".*?(?:"""|\Z)|^[ \t]*>.*?$|"[^"\n]{40,}"', re.DOTALL | re.MULTILINE
)
_INLINE = re.compile(r"([\"`])[^\"`\n]*\1|(?<=\S) *\([^()\n]*\)")
_SENTENCE = re.compile(r"[^.!?;\n]+(?:[.:]\w[^.!?;\n]*)*")
_LEAD = re.compile(r"\A[^:]{1,160}:\s+")  # what a person says in front of what is shown
_SPEAKS = re.compile(r"\b(?:i|i'm|i'd|i've|you|we|me|my|our|us|let's|yes|thanks)\b")
_CLAUSE_MARKS = re.compile(",?(?: and| so)+ |, ")
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = "\u024f"  # the last of the Latin letters
_STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d\u00a0", "''\"\" ")


@cache
def _forms() -> Mapping[str, re.Pattern[str]]:
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    words, wrong = data.pop("words"), data.pop("wrong")
    begins, within = (
        [f"(?P<{name}>{'|'.join(wrong[name])})", *wrong[name[4:]]]
        for name in ("ask_begins", "ask_within")
    )
    data["wrong"] = [rf"\b(?=\w)(?:(?:{wrong['where']})(?:{'|'.join(begins)})|{'|'.join(within)})"]
    return {
        name: re.compile(_in_full("|".join(forms), words), re.MULTILINE)
        for name, forms in data.items()
    }


def _in_full(form: str, words: Mapping[str, str]) -> str:
    """Return a form with the names of words, in angle brackets, replaced by what they stand for."""
    for name, meaning in words.items():
        form = form.replace(f"<{name}>", meaning)
    return form


def said_in(prompt: str) -> Said:
    """Return what a prompt says of the last work; "" too for what a harness or a template wrote."""
    forms = _forms()
    if len(prompt) > HEAD_LIMIT + TAIL_LIMIT:
        prompt = f"{prompt[:HEAD_LIMIT]}\n{prompt[-TAIL_LIMIT:]}"
    text = prompt.translate(_STRAIGHT).lower()
    text = _REQUEST.sub("", _TAGS.sub("", text) if "</" in text else text).strip()
    if not text or forms["templates"].match(text):
        return ""
    own, printed = _own_words(text)
    if _is_foreign(own[:_LANGUAGE_LIMIT]):
        return "unknown"
    shown = _LEAD.sub("", own)
    impersonal = len(shown.split()) >= _REVIEW_WORDS and not _SPEAKS.search(shown)
    if forms["reviews"].search(own) or (impersonal and forms["impersonal"].search(own)):
        return "report"
    if _corrects(own if len(own) <= OWN_LIMIT else own[:LONG_LIMIT]):
        return "wrong"
    return "report" if printed else ""


def asks(reason: str) -> bool:
    """Whether the reason of a refusal is a question, and not one that says that something is wrong."""
    return "?" in reason and said_in(reason) != "wrong"


def _own_words(text: str) -> tuple[str, bool]:
    """Return what of a text the person wrote, without quotations and output, and whether there is output."""
    output = _forms()["output"].search
    if output(text) is None:
        return _QUOTED.sub("\n", text).strip(), False
    lines = _QUOTED.sub("\n", text).split("\n")
    printed = [number for number, line in enumerate(lines) if output(line[:_LINE_LIMIT])]
    if printed:
        lines[printed[0] : printed[-1] + 1] = [""]
    return "\n".join(lines).strip(), True


def _is_foreign(text: str) -> bool:
    """Whether a text is in another language than English, as far as its letters or its small words say so."""
    letters = _LETTER.findall(text)
    if sum(letter > _LATIN for letter in letters) * 4 > len(letters):
        return True
    forms = _forms()
    other = len(forms["other"].findall(text))
    return other > 1 and other > len(forms["english"].findall(text))


def _corrects(text: str) -> bool:
    forms = _forms()
    text = forms["left_out"].sub(
        "", _INLINE.sub(" x", text).replace("'", "").replace(" but ", " but. ")
    )
    if forms["asides"].match(forms["openers"].sub("", text, 1)):
        return False
    wonders = False
    for found in _SENTENCE.finditer(text):
        sentence = forms["openers"].sub("", " ".join(found[0].split()), 1)
        asks = text.startswith("?", found.end())
        if any(
            _counts(form, sentence, asks or wonders) for form in forms["wrong"].finditer(sentence)
        ):
            return True
        wonders = wonders or (asks and forms["wonders"].match(sentence) is not None)
    return False


def _counts(form: re.Match[str], sentence: str, asking: bool) -> bool:
    """Whether a form that was found says so there: not in a question, a condition or a plan."""
    forms = _forms()
    if form["ask_begins"] or form["ask_within"]:
        return True
    *_, begins = 0, *(mark.end() for mark in _CLAUSE_MARKS.finditer(sentence, 0, form.start()))
    if forms["conditions"].search(sentence, 0, form.start()) or forms["guards"].search(
        sentence, begins, form.start()
    ):
        return False
    if asking and not forms["behind"].search(sentence, form.end()):
        return False
    return not forms["asks"].match(sentence, begins)
