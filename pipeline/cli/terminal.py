"""The screen: foreign text is shown, never obeyed."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from pipeline.cli.output import CLOSED_PIPE, drop_standard_output
from pipeline.formats.foreign import visible

_USUAL_WIDTH, _NARROWEST = 80, 20


class Terminal(Console):
    """A console that escapes control characters, and ends quietly on a closed pipe."""

    @property
    def width(self) -> int:
        """Characters in a line; a usual width where a terminal reports none."""
        found = super().width
        return found if found >= _NARROWEST else _USUAL_WIDTH

    @width.setter
    def width(self, width: int) -> None:
        self._width = width

    def say(self, text: str) -> None:
        """Print text verbatim: no markup, colours or wrapping."""
        self.print(text, markup=False, highlight=False, soft_wrap=True)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as rich does, with foreign control characters escaped."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        drop_standard_output()
        raise SystemExit(CLOSED_PIPE)
