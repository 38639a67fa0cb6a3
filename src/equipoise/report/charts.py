"""Charts as inline SVG, in per cent of their width: they fit a phone without being scaled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from equipoise.report.visible import visible
from equipoise.stats.paired import Paired
from equipoise.stats.undefined import Undefined
from equipoise.stats.wilson import Rate

LEFT, CENTRE, HALF = 2.0, 39.0, 37.0
STUB, STUB_WIDTH = 82.0, 18.0
NARROW = 3.5


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a stacked bar: its name, how many, and the address of the rows behind it."""

    name: str
    count: int
    address: str = ""


def balance_line(a: int, b: int, lost: int, committed: bool) -> Markup:
    """A pair's lean: zero in the middle, a dot left for a, a diamond right for b, losses grey.

    Filled only where the pair committed. It stands beside its numbers, so it is silent itself.
    """
    parts = [_f('<line class="axis" x1="{}%" x2="{}%" y1="10" y2="10"/>', LEFT, CENTRE + HALF),
             _f('<line class="zero" x1="{0}%" x2="{0}%" y1="4" y2="16"/>', CENTRE)]
    if lost:
        width = STUB_WIDTH * lost / (a + b + lost)
        parts.append(_f('<rect class="stub" x="{}%" y="7" width="{}%" height="6"/>', STUB, width))
    if a + b:
        lean = (b - a) / (a + b)
        shape = "z" if a == b else "b" if b > a else "a"
        parts.append(_f('<use href="#s{0}" class="m {0}{2}" x="{1}%" y="10"/>', shape,
                        CENTRE + HALF * lean, " full" if committed else ""))
    return _svg("line", 20, parts)


def forest(
    value: float | Undefined, low: float | Undefined, high: float | Undefined, scale: float,
    *, lost: float = 0.0, full: bool = False,
) -> Markup:
    """A mean in points with its interval on a balance line from -scale to +scale, plus right.

    A dot for plus, a diamond for minus, filled where `full`; an interval beyond the scale ends
    in an arrow. `lost` is the share of replies lost, as the grey stub. Undefined: the axis alone.
    """
    parts = [_f('<line class="axis" x1="{}%" x2="{}%" y1="10" y2="10"/>', LEFT, CENTRE + HALF),
             _f('<line class="zero" x1="{0}%" x2="{0}%" y1="3" y2="17"/>', CENTRE)]
    if lost:
        parts.append(_f('<rect class="stub" x="{}%" y="7" width="{}%" height="6"/>', STUB,
                        STUB_WIDTH * lost))

    def at(points: float) -> float:
        return CENTRE + HALF * max(-1.0, min(1.0, points / scale))

    if not isinstance(low, Undefined) and not isinstance(high, Undefined):
        parts.append(_f('<line class="whisker" x1="{}%" x2="{}%" y1="10" y2="10"/>',
                        at(low), at(high)))
        parts += [_f('<svg x="{}%" y="10" overflow="visible"><path class="beyond" d="M{} -4l{} 4'
                     'l{} 4"/></svg>', at(end), -5 * way, 5 * way, -5 * way)
                  for end, way in ((low, -1), (high, 1)) if abs(end) > scale]
    if not isinstance(value, Undefined):
        shape = "a" if value > 0 else "b" if value < 0 else "z"
        parts.append(_f('<use href="#s{0}" class="m {0}{2}" x="{1}%" y="10"/>', shape, at(value),
                        " full" if full else ""))
    return _svg("line", 20, parts)


def forest_scale(ends: Iterable[float | Undefined]) -> float:
    """A round number of points that holds these values, but for the widest tenth of them.

    >>> forest_scale([1.2, -3.4]), forest_scale([])
    (5.0, 2.0)
    """
    sizes = sorted(abs(end) for end in ends if not isinstance(end, Undefined))
    holds = sizes[max(0, -(-9 * len(sizes) // 10) - 1)] if sizes else 0.0
    return next((float(s) for s in (2, 5, 10, 20, 30) if holds <= s), 50.0)


def net_line(found: Paired, scale: float, *, lost: float = 0.0, full: bool = False) -> Markup:
    """A paired difference in points on a balance line, as `forest` has it."""
    def points(value: float | Undefined) -> float | Undefined:
        return value if isinstance(value, Undefined) else 100 * value

    return forest(points(found.difference), points(found.low), points(found.high), scale,
                  lost=lost, full=full)


def net_scale(found: Iterable[Paired]) -> float:
    """The least of 25, 50 and 100 points that holds all of these with their intervals.

    >>> from equipoise.stats.paired import paired
    >>> net_scale([paired(0, 0, 0, 24)]), net_scale([paired(0, 24, 0, 0)]), net_scale([])
    (25.0, 100.0, 25.0)
    """
    ends = [abs(100 * end) for one in found for end in (one.low, one.high)
            if not isinstance(end, Undefined)]
    return next(float(s) for s in (25, 50, 100) if max(ends, default=0.0) <= s)


def bar(share: float | Undefined, kind: str = "") -> Markup:
    """A share from 0 to 1 as a bar on a hairline of full length; undefined: the hairline alone."""
    parts = [_f('<line class="axis" x1="0" x2="100%" y1="8" y2="8"/>')]
    if not isinstance(share, Undefined):
        parts.append(_f('<rect class="bar{}" x="0" y="3" width="{}%" height="10"/>',
                        f" {kind}" if kind else "", 100.0 * max(0.0, min(1.0, share))))
    return _svg("bars", 16, parts)


def strip(cells: Sequence[str]) -> Markup:
    """A pair's cells in order, two a framing: `a` a dot above, `b` a square below, else a dash."""
    places: dict[str, list[int]] = {"a": [], "b": [], "": []}
    for place, cell in enumerate(cells):
        places[cell if cell in "ab" else ""].append(5 + 9 * place + 5 * (place // 2))
    width = 5 + 9 * len(cells) + 5 * ((len(cells) + 1) // 2)
    drawn = [
        _f('<path class="{}" d="{}"/>', kind or "n",
           "".join(f"M{x - (3 if step else 0)} {y}h{step}" for x in places[kind]))
        for kind, y, step in (("a", 5, 0), ("b", 15, 0), ("", 10, 6)) if places[kind]
    ]
    return Markup('<svg class="strip" width="{0}" height="20" viewBox="0 0 {0} 20"'
                  ' aria-hidden="true">{1}</svg>').format(width, Markup("").join(drawn))


def interval(found: Rate) -> Markup:
    """A rate from 0 to 100%: its dot and its interval; only the axis where it is undefined."""
    parts = [_f('<line class="axis" x1="1%" x2="99%" y1="10" y2="10"/>')]
    parts += [_f('<line class="zero" x1="{0}%" x2="{0}%" y1="6" y2="14"/>', x) for x in (1, 50, 99)]
    ends = found.estimate, found.low, found.high
    at = [1 + 98 * end for end in ends if not isinstance(end, Undefined)]
    if len(at) == len(ends):
        estimate, low, high = at
        parts.append(_f('<rect class="range" x="{}%" y="8" width="{}%" height="4"/>',
                        low, high - low))
        parts.append(_f('<circle class="dot" cx="{}%" cy="10" r="4.5"/>', estimate))
    return _svg("interval", 20, parts)


def sharpness(value: float, floor: float) -> Markup:
    """Sharpness on its scale, from a half (a tie) to one, with the coin-flip floor as a bar."""
    def at(share: float) -> float:
        return 1 + 98 * (share - 0.5) / 0.5

    return _svg("interval", 20, [
        _f('<line class="axis" x1="1%" x2="99%" y1="10" y2="10"/>'),
        *(_f('<line class="zero" x1="{0}%" x2="{0}%" y1="6" y2="14"/>', x) for x in (1, 50, 99)),
        _f('<line class="floor" x1="{0}%" x2="{0}%" y1="2" y2="18"/>', at(floor)),
        _f('<circle class="dot" cx="{}%" cy="10" r="4.5"/>', at(value)),
    ])


def stacked(segments: Iterable[Segment], title: str, about: str, name: str) -> Markup:
    """One bar of parts that make a whole, each with its own hatch and its count above it."""
    kept = [segment for segment in segments if segment.count]
    total = sum(segment.count for segment in kept)
    parts = [Markup("<title>{}</title><desc>{}</desc>").format(visible(title), visible(about))]
    start = 0.0
    for segment in kept:
        width = 100 * segment.count / total
        parts.append(_f('<rect class="fate f-{}" x="{}%" y="18" width="{}%" height="15"/>',
                        slug(segment.name), start, width))
        if width >= NARROW or segment.count == total:
            parts.append(_labelled(segment, start))
        start += width
    return Markup('<svg class="stacked" width="100%" height="34" role="img"'
                  ' aria-labelledby="{0}">{1}</svg>').format(name, _named(parts, name))


def _labelled(segment: Segment, start: float) -> Markup:
    text = _f('<text x="{}%" y="13">{}</text>', start, f"{segment.count:,}")
    if not segment.address:
        return text
    return Markup('<a href="#{}" aria-label="{}">{}</a>').format(
        segment.address, f"{segment.count:,} {segment.name}", text)


def _named(parts: Sequence[Markup], name: str) -> Markup:
    joined = Markup("").join(parts)
    return Markup(joined.replace(Markup("<title>"), Markup('<title id="{}">').format(name), 1))


def swatch(name: str) -> Markup:
    """The hatch of one part, for a legend."""
    return Markup('<svg class="swatch" width="18" height="12" aria-hidden="true">'
                  '<rect class="fate f-{}" x="0.5" y="0.5" width="17" height="11"/></svg>'
                  ).format(slug(name))


def glyph(kind: str) -> Markup:
    """The mark of one reading: `a`, `b`, or empty for none."""
    if not kind:
        return Markup('<svg class="glyph" width="12" height="12" viewBox="-6 -6 12 12"'
                      ' aria-hidden="true"><path class="none" d="M-5 0h10"/></svg>')
    return Markup('<svg class="glyph" width="12" height="12" viewBox="-6 -6 12 12"'
                  ' aria-hidden="true"><use href="#s{0}" class="m {0} full"/></svg>').format(kind)


def counts_in_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)


def slug(name: str) -> str:
    return name.replace(" ", "-")


def _svg(name: str, height: int, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg class="{}" width="100%" height="{}" aria-hidden="true">{}</svg>').format(
        name, height, Markup("").join(parts))


def _f(form: str, *values: object) -> Markup:
    """The form with its values escaped and its numbers short."""
    short = [f"{v:.2f}".rstrip("0").rstrip(".") if isinstance(v, float) else v for v in values]
    return Markup(form).format(*short)
