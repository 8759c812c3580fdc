"""What an answer says, whatever it is dressed in: bold, quotes, brackets, stops of any script."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

_STOPS = ".,;:!?…。｡、､।॥،؛؟։።፣၊။"
_QUOTES = "\"'`´“”„‟«»‹›‘’‚‛「」『』〝〞〟"
_BRACKETS = "()[]{}<>【】〈〉《》〔〕"
_BULLETS = "-•·▪◦‣→#+ "
_AROUND = f"{_QUOTES}* \n"
_AFTER = f"{_STOPS}{_AROUND}"
_DRESS = str.maketrans(
    {"_": " ", "‐": "-", "–": "-", "—": "-", "−": "-"}
    | dict.fromkeys(f"{_STOPS}{_QUOTES}{_BRACKETS}*\\$")
)
_MARKUP = re.compile(
    r"\\(?:boxed|emph|underline|text(?:bf|it|tt|rm)?|mathrm|mathbf)\s*\{|\\[()\[\]]"
    r"|</?(?:b|i|u|p|em|span|strong|mark|code)>"
)
# Without width, or only a hint to whoever draws the text; controls that are no space.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
_LETTER = re.compile(r"\W*([A-Za-z])(\W+)(?=\w)")
_AFTER_A_LETTER = frozenset(".:),]")


def plain(text: str) -> str:
    """Text in lower case without its dress, with single spaces; ``_`` is one.

    Forms of a letter that only look different, as full width, are one. Linear in the length.
    """
    text = visible_letters(text)
    if "&" in text:
        text = unescape(text)
    if "\\" in text or "<" in text:
        text = _MARKUP.sub("", text)
    return " ".join(text.lower().translate(_DRESS).split()).lstrip(_BULLETS)


def undressed(text: str) -> str:
    """Text without quotes, bold and a pair of brackets around it, and stops after it."""
    text = without_invisible(text).rstrip(_AFTER).strip(_AROUND)
    return text[1:-1].strip(_AROUND) if text[:1] + text[-1:] in ("()", "[]") else text


def visible_letters(text: str) -> str:
    """Text without invisible characters, each letter in its usual form."""
    if text.isascii() and text.isprintable():
        return text
    return unicodedata.normalize("NFKC", without_invisible(text))


def without_invisible(text: str) -> str:
    """Text without characters that have no width, and controls."""
    return text if text.isascii() and text.isprintable() else _INVISIBLE.sub("", text)


def split_letter(text: str) -> tuple[str | None, str]:
    """The letter of an option that a text begins with, in lower case, and what comes after it.

    "A. box", "(a) box" and "**A**: box" begin with one; "a box" begins with an article.
    """
    found = _LETTER.match(text)
    if found is None or _AFTER_A_LETTER.isdisjoint(found[2]):
        return None, text
    return found[1].lower(), text[found.end() :]
