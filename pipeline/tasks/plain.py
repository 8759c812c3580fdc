"""Stripping decoration from an answer: bold, quotes, brackets, stops of any script."""

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
    """Lower-cased text without decoration, with single spaces; ``_`` is a space.

    Compatibility forms of letters, as full width, are unified. Linear in the length.
    """
    text = visible_letters(text)
    if "&" in text:
        text = unescape(text)
    if "\\" in text or "<" in text:
        text = _MARKUP.sub("", text)
    return " ".join(text.lower().translate(_DRESS).split()).lstrip(_BULLETS)


def undressed(text: str) -> str:
    """Text without surrounding quotes, bold and brackets, and final stops."""
    text = without_invisible(text).rstrip(_AFTER).strip(_AROUND)
    return text[1:-1].strip(_AROUND) if text[:1] + text[-1:] in ("()", "[]") else text


def visible_letters(text: str) -> str:
    """Text without invisible characters, NFKC-normalised."""
    if text.isascii() and text.isprintable():
        return text
    return unicodedata.normalize("NFKC", without_invisible(text))


def without_invisible(text: str) -> str:
    """Text without zero-width and control characters."""
    return text if text.isascii() and text.isprintable() else _INVISIBLE.sub("", text)


def split_letter(text: str) -> tuple[str | None, str]:
    """(lower-case option letter or None, rest).

    "A. box", "(a) box" and "**A**: box" begin with a letter; "a box" begins with an article.
    """
    found = _LETTER.match(text)
    if found is None or _AFTER_A_LETTER.isdisjoint(found[2]):
        return None, text
    return found[1].lower(), text[found.end() :]
