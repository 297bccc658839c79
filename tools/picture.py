"""Pictures of the tools, in the style of the program's own charts: both have apps/skipstone/results/picture.css."""
import html
import math
import pathlib

STYLE = (pathlib.Path(__file__).resolve().parent.parent / "apps/skipstone/results/picture.css").read_text(encoding="utf-8")
WIDTH, LEFT, RIGHT = 760, 150, 60  # pixels
BAR, GAP, GROUP_GAP, TITLE, LEGEND, AXIS = 15, 3, 10, 44, 24, 44
LETTER = 7


def label(x, y, words, style="", anchor="start"):
    of_class = f' class="{style}"' if style else ""
    return f'<text{of_class} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def line(style, x1, y1, x2, y2):
    return f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def document(width, height, title, description, body):
    """The SVG as text. `body`: its elements."""
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
             'aria-labelledby="picture-title picture-desc">',
             f'<title id="picture-title">{html.escape(title)}</title>',
             f'<desc id="picture-desc">{html.escape(description)}</desc>',
             f'<style>\n{STYLE}</style>', '<rect class="page" width="100%" height="100%"/>', *body, "</svg>"]
    return "\n".join(lines) + "\n"


def series_classes(names):
    """A colour for each; `auto` has the accent, and others are quieter beside it."""
    accent = "auto" in names
    others = [name for name in names if name != "auto"]
    return ["c0 auto" if name == "auto" else f"c{others.index(name) + accent}{' quiet' * accent}" for name in names]


def step_of(most):
    rough = most / 6
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(digit for digit in (1, 2, 5, 10) if rough / power <= digit)


def legend(names):
    """[(name, class)] in a line."""
    x = LEFT
    for name, style in names:
        yield f'<g class="{style}"><rect class="bar" x="{x}" y="{TITLE - 6}" width="12" height="12"/>{label(x + 18, TITLE + 4, name)}</g>'
        x += 42 + LETTER * len(name)


def bars(title, unit, names, groups, reference=None):
    """Horizontal bars. `names`: (name, class) of the legend; `groups`: (label, [(value, class)]); `reference`: the value of a dashed line."""
    most = max(value for _, values in groups for value, _ in values)
    step = step_of(most)
    ticks = [step * i for i in range(math.ceil(most / step) + 1)]
    x = lambda value: LEFT + (WIDTH - LEFT - RIGHT) * value / ticks[-1]
    top, drawn = TITLE + LEGEND, []

    def number_at(end, width):
        across = reference is not None and end < x(reference) < end + width  # the dashed line would cross the number
        return (x(reference) if across else end) + 5

    for name, values in groups:
        height = (BAR + GAP) * len(values)
        drawn.append(f'<g class="{values[0][1] if len(values) == 1 else ""}">{label(LEFT - 8, top + height / 2 + 3, name, anchor="end")}</g>')
        for value, style in values:
            words = f"{value:.2f}" if most < 100 else f"{value:.0f}"
            drawn.append(f'<g class="{style}"><rect class="bar" x="{LEFT}" y="{top}" width="{x(value) - LEFT:.1f}" height="{BAR}"/>'
                         f'{label(number_at(x(value), 5 + LETTER * len(words)), top + BAR - 3, words)}</g>')
            top += BAR + GAP
        top += GROUP_GAP if len(values) > 1 else 3
    first = TITLE + LEGEND - 4
    grid = [element for tick in ticks for element in (line("grid", x(tick), first, x(tick), top), label(x(tick), top + 15, f"{tick:g}", "small", "middle"))]
    if reference is not None:
        grid.append(line("mark", x(reference), first, x(reference), top))
    body = [label(12, 22, title, "title"), *legend(names), *grid, *drawn, label((LEFT + WIDTH - RIGHT) / 2, top + 33, unit, anchor="middle")]
    series = [name for name, _ in names]
    told = "; ".join(f"{name}: " + ", ".join((f"{series[i]} " if len(values) > 1 else "") + f"{value:g}" for i, (value, _) in enumerate(values))
                     for name, values in groups)
    return document(WIDTH, top + AXIS, title, f"{unit}. {told}.", body)
