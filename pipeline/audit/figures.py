"""Figures of the audit as SVG, byte for byte reproducible."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.audit.records import Audit, Balance, ColumnAudit, Counts, RuleGroup
from pipeline.formats.svg import svg_text

_SHOWN_RULES = 6
_BAR, _BEST = "#9aa5b1", "#d1242f"


def draw_all(audit: Audit) -> dict[str, str]:
    drawn = {
        "rules-by-order": rules_by_order(audit.columns),
        "answer-balance": answer_balance(audit.columns),
    }
    return {name: svg_text(figure) for name, figure in drawn.items() if figure is not None}


def rules_by_order(columns: Mapping[str, ColumnAudit]) -> Figure | None:
    """For each column, the accuracy of its best rules by belief order."""
    shown = {name: column for name, column in columns.items() if _orders(column)}
    if not shown:
        return None
    figure = Figure(figsize=(6.4, 2.6 * len(shown)), layout="constrained")
    axes = figure.subplots(len(shown), 1, squeeze=False)
    for axis, (name, column) in zip(axes[:, 0], shown.items(), strict=True):
        _draw_orders(axis, name, column)
    return figure


def _orders(column: ColumnAudit) -> dict[str, RuleGroup]:
    return {key: group for key, group in column.baselines.by_order.items() if key != "None"}


def _draw_orders(axis: Axes, name: str, column: ColumnAudit) -> None:
    rules, orders = column.baselines.rules, _orders(column)
    best = sorted(rules, key=lambda rule: -rules[rule])[:_SHOWN_RULES]
    ordered = sorted(orders, key=int)
    width = 0.8 / len(best)
    for index, rule in enumerate(best):
        heights = [100 * orders[order].rules[rule] for order in ordered]
        places = [place - 0.4 + width * (index + 0.5) for place in range(len(ordered))]
        axis.bar(places, heights, width, label=f"{rule} ({100 * rules[rule]:.1f})")
    axis.set_xticks(range(len(ordered)), [f"order {order}" for order in ordered])
    axis.set_ylim(0, 100)
    axis.set_ylabel("accuracy (%)")
    axis.set_title(name, fontsize=10)
    axis.grid(axis="y", alpha=0.25)
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def answer_balance(columns: Mapping[str, ColumnAudit]) -> Figure | None:
    """For each column, the position of the gold answer; the most frequent in red."""
    panels = [
        (f"{name}: {title}", counts)
        for name, column in columns.items()
        for title, counts in _places(column.balance).items()
        if counts
    ]
    if not panels:
        return None
    figure = Figure(figsize=(6.4, 1.9 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 1, squeeze=False)
    for axis, (title, counts) in zip(axes[:, 0], panels, strict=True):
        total, most = sum(counts.values()), max(counts.values())
        colours = [_BEST if count == most else _BAR for count in counts.values()]
        heights = [100 * count / total for count in counts.values()]
        axis.bar(list(counts), heights, color=colours)
        axis.set_title(title, fontsize=9)
        axis.set_ylabel("rows (%)")
        axis.grid(axis="y", alpha=0.25)
    return figure


def _places(balance: Balance) -> dict[str, Counts]:
    return {
        "place of the gold answer among the choices": balance.choice_position,
        "its rank among the places in order of first mention": balance.mention_rank,
        "tenth of the story that mentions it last": balance.mention_part,
    }
