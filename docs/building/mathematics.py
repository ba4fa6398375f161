"""Mathematics as SVG, drawn at build in the colour of the text: nothing to load, no script."""

import html
from functools import cache

import ziamath

TEXT_SIZE = 17.0
DISPLAY_SIZE = 19.0


@cache
def inline_math(latex: str) -> str:
    """A formula within a line, on its baseline."""
    drawn = ziamath.Latex(latex, size=TEXT_SIZE, color="currentColor", inline=True)
    style = f"vertical-align:{drawn.getyofst():.2f}px"
    return _labelled(drawn.svg(), latex, f'<span class="formula" style="{style}"', "</span>")


@cache
def display_math(latex: str) -> str:
    """A formula in a line of its own, which scrolls where the page is narrow."""
    drawn = ziamath.Latex(latex, size=DISPLAY_SIZE, color="currentColor")
    return _labelled(drawn.svg(), latex, '<div class="formula"', "</div>")


def _labelled(svg: str, latex: str, opening: str, closing: str) -> str:
    label = html.escape(" ".join(latex.split()), quote=True)
    return f'{opening} role="math" aria-label="{label}">{svg}{closing}'
