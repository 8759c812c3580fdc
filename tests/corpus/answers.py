"""Answers as people and models write them: dressed, lettered, listed, in JSON, and as numbers."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.tasks.example import Example

CHOICES = ("blue_jar", "red_box")
OPTIONS = ("(a) a jar", "(b) Ann's box")
GOLDS: Mapping[str, Example] = {
    "place": Example("hi_tom", "hi_tom", "s", "q", "red_box", choices=CHOICES),
    "yes or no": Example("fantom", "fantom_yes_no", "s", "q", "yes", answer_kind="yes_no"),
    "option": Example(
        *("fantom", "fantom_yes_no", "s", "q", OPTIONS[1]), answer_kind="choice", choices=OPTIONS
    ),
    "names": Example(
        *("fantom", "fantom_list", "s", "q", "Ann, Tom"),
        answer_kind="names",
        meta={"wrong_names": ["Ben"]},
    ),
    "number": Example("gsm8k", "gsm8k", "s", "q", "1234", answer_kind="number"),
}

DRESSES = (
    *("{}", "**{}**", "*{}*", "__{}__", "`{}`", "**`{}`**", '"{}"', "'{}'", "“{}”", "‘{}’"),
    *("«{}»", "「{}」", "({})", "[{}]", "{{{}}}", "（{}）", "【{}】", "{}。", "{}．", "{}！", "{} ..."),
    *("{}…", "{}।", "{}؟", "\u200b{}\u200b", "\ufeff{}", "{}\u00ad", "\u2060{}", "\u200e{}"),
    *("<b>{}</b>", "\\boxed{{{}}}", "\\text{{{}}}", "the {}", "A {}", "\n{}\n", "\u00a0{}"),
    *("- {}", "• {}", "# {}", "> {}", "→ {}", "${}$", "$\\text{{{}}}$", "\\emph{{{}}}", "```\n{}\n```"),
    *("<span>{}</span>", "&quot;{}&quot;", "&nbsp;{}", "‹{}›", "<{}>", "{};", "***{}***"),
)  # fmt: skip
SPELLINGS = (
    "red_box",
    "RED_BOX",
    "red box",
    "red\\_box",
    "ｒｅｄ_box",
    "red\u200b_box",
    "red&#95;box",
)

RIGHT: Mapping[str, tuple[str, ...]] = {
    "place": (
        *(dress.format("red_box") for dress in DRESSES),
        *SPELLINGS,
        *("B. red_box", "(b) red_box", "**B**: red_box", "B) red_box", "[B] red_box", "(B). red_box"),
    ),
    "yes or no": ("Yes", "YES!", "**Yes.**", "「yes」", "Yes，", "yes\u200b", "[Yes]", "'Yes'", "- Yes", "Yes。"),
    "option": ("Ann’s box", "(b) Ann’s box", "b", "**B**", "(B).", "b) Ann's box", "`b`", "Ann&#39;s box", "(b)", "“b”"),
    "names": (
        *("ANN AND TOM", "Ann & Tom", "- Ann\n- Tom", "1. Tom\n2. Ann", '["Ann", "Tom"]', "Ann; **Tom**."),
        *("Ann/Tom", "**Ann** and **Tom**", "['Ann', 'Tom']"),
        *("Ann，Tom", "Ann、Tom", "Ann، Tom", "• Ann\r\n• Tom", "“Ann” and “Tom”", "Ann,\u200bTom"),
    ),
    "number": (
        *(r"\boxed{1234}", r"\boxed{1,234}", r"\boxed{1\,234}", r"\boxed{1{,}234}", r"\boxed{\$1,234.00}", "1234", "$1,234"),
        *("1234.", "**1234**.", "“1234”", "(1234)", r"**\boxed{1234}**", "1234\u200b", "1234。", "`1234`", "１２３４"),
        *(r"\boxed{1234\quad}", r"\boxed{1234\phantom{.00}}", r"\boxed{1234\!}", r"\boxed{\displaystyle 1234}"),
        *(r"\boxed{1,\!234}", r"\boxed{1{,}\!234}", r"\boxed{\text{\$}1234}", r"\boxed{\textdollar1234}", r"\boxed{\$~1234}"),
        *(r"\boxed{\bf 1234}", r"\boxed{\color{red}{1234}}", r"\boxed{1234.}", r"\boxed{“1234”}", r"\boxed{1234;}"),
    ),
}  # fmt: skip
"""Right by every rule, and nothing but the answer."""

RIGHT_WITH_MORE: Mapping[str, tuple[str, ...]] = {
    "place": ("A. red_box", "a) red_box", "C. red_box", "not red_box", "in the red_box", "Answer: red_box"),
    "yes or no": ("yes, he does", "Yes — he knows", "true"),
    "number": (
        *(r"So \boxed{1234} it is, not 5.", r"first \boxed{5}, no: \boxed{1234}", "The answer is 1,234."),
        *(r"\boxed{1234\text{ dollars}}", r"\boxed{1234\text{ ft}^2}", r"\boxed{1234 \textrm{ m}^{3}}"),
        *(r"\boxed{1234^\circ}", r"\boxed{1234°}", r"\boxed{€1234}", r"\boxed{\pounds 1234}", r"\boxed{1234\%}"),
        *(r"\boxed{\approx 1234}", r"\boxed{x \approx 1234}", r"\boxed{\sim 1234}"),
        *(r"\boxed{10^3 + 234}", r"\boxed{10^{3} + 234}", r"\boxed{\sqrt{1522756}}", r"\boxed{n = 1234 miles}"),
        *(r"\boxed{2^{10} + 210}", r"\boxed{2^10 + 210}", r"\boxed{1.234 \times 10^{ 3 }}", r"\boxed{1234 \cdot 10^{0}}"),
        *(r"\boxed{\frac{2468}{2}}", r"\boxed{\text{Total} = 2 \times (600 + 17)}"),
        *(r"\boxed{1200 + 34}", r"\boxed{1234 percent}", r"\boxed{\left(1234\right)\text{ cm}}", r"\boxed{\(1234\)}"),
        *(r"\boxed{\frac{2 \cdot 1234}{\frac{4}{2}}}", r"\boxed{1200 + 34 = 1234}", "She has 5 and then **1234** eggs."),
        *(r"\boxed{\phantom{0}1234}", r"\boxed{{1234}\text{ eggs}}"),
        *(r"\boxed{\mathrm{1234}}", r"\boxed{\text{1234}}", r"\boxed{\textbf{1234}}", r"\boxed{\mbox{1234}}"),
        *(r"\boxed{\mathit{1234}}", r"\boxed{\fbox{1234}}", r"\boxed{\boldsymbol{1234}}", r"\boxed{\texttt{1234}}"),
        *(r"\boxed{1234 \pm 0}", r"\boxed{|-1234|}", r"\boxed{\left|-1234\right|}", r"\boxed{\lvert 1234 \rvert}"),
        *(r"\boxed{1234\,\%}", r"\boxed{1234\ \text{percent}}", r"\boxed{1234\;\mathrm{cm}}", r"\boxed{1234\text{ eggs}.}"),
        *(r"\boxed{\cfrac{2468}{2}}", r"\boxed{\dfrac{2{,}468}{2}}", r"\boxed{\tfrac{2468}{2}}", r"\boxed{2468 \over 2}"),
        *(r"\boxed{617*2}", r"\boxed{617 \cdot 2}", r"\boxed{617 \times 2}", r"\boxed{1\;234}", r"\boxed{1~234}"),
        *(r"\boxed{x_1 = 1234}", r"\boxed{a + b = 1234}", r"\boxed{f(x) = 1234}", r"\boxed{\therefore 1234}"),
        *(r"\boxed{1234\text{ m s}^{-1}}", r"\boxed{1234\,°C}", r"\boxed{1234\degree}", r"\boxed{\bigl(1234\bigr)}"),
        *(r"\boxed{1.234\text{ thousand}}", r"\boxed{\texteuro 1234}", r"\boxed{\operatorname{1234}}"),
        r"\boxed{1234, 1234}",  # a set of one element to math-verify
        *("答案是1234。", "The total is 1 234 dollars.", "The total is 1\u202f234 dollars.", "Es sind 1'234."),
        *("It costs 1 234,00 €.", "It costs 1.234 thousand dollars.", "12.34 Hundred", "about 1233 4/4 miles"),
        *("The area is 1234 m^2.", "The area is 1234 m^{2}.", "At 1234 s^-1.", "1234 cm²", "1\u200b234 eggs"),
    ),
}  # fmt: skip
"""Right by the published rule alone."""

WRONG: Mapping[str, tuple[str, ...]] = {
    "place": ("B. blue_jar", "A", "red_box (not blue_jar)", "~~red_box~~", "redbox", "red_boxes", "B", "réd_box"),
    "yes or no": ("No", "No, but yes", "yeah", "да"),
    "option": ("a", "(a) a jar", "Ann’s boxes", "**A**"),
    "names": ("Ann", "Ann, Tom, Ben", "Ben", "nobody", ""),
    "number": (
        *("1234 eggs, or 5", "12345", "-1234", "1234.5", "1.234", "The change is \u22121234.", "It costs 12,34 €."),
        *(r"\boxed{}", r"\boxed{x}", r"\boxed{2468 \times 50\%}", r"\boxed{1234 \div 0}", r"\boxed{(1234}"),
        *(r"\boxed{12\,34}", r"\boxed{1 234 5}", r"\boxed{1234!}", r"\boxed{1234 \pm 1}", r"\boxed{\pm 1234}"),
        *(r"\boxed{12*34}", r"\boxed{\geq 1234}", r"\boxed{1234\text{ million}}", r"\boxed{\text{-}1234}"),
        *(r"\boxed{2^3^2}", r"\boxed{1233}", r"\boxed{+}", "no number", r"\boxed{1234 / 1/ }", "5 m^1234", "1233½"),
    ),
}  # fmt: skip
"""Wrong by every rule."""

IN_JSON = (
    *('{"answer":"red_box"}', '{"answer" : "red_box" }', '```json\n{"answer": "red_box",}\n```'),
    *('{"Answer": "**red_box**"}', '{"why": "{x}", "answer": "red_box"}', '{"answer": ["red_box"]}'),
    *('{"answer": "red\\u005fbox"}', '{"answer": "red_box"} {"answer": "blue_jar"}', '{"answer": "red_box"'),
    *('{"a": {"answer": "red_box"}}', '[{"answer": "red_box"}]', '\ufeff{"answer": "red_box\\n"}'),
    *('{"why": "\\"answer\\": \\"jar\\"", "answer": "red_box"}', '{"answer": "Red\\\\_box.", "sure": 1}'),
)  # fmt: skip
"""Replies that answer with the place, for the readers of JSON."""
