"""A map of subjects from their distances, and the circles round its clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import dist, sqrt

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.tree import in_order
from equipoise.stats.undefined import Undefined

Floats = NDArray[np.float64]
Point = tuple[float, float]
EVEN = 1e-9


@dataclass(frozen=True, slots=True)
class Map:
    """Subjects as points of a plane, in the units of their distances.

    `eigenvalues` fall; negative ones say by how much the distances fit no space at all. `share`
    is that of the two used in the sum of the positive ones, `stress` the root of the squared
    errors of the map's distances over the squared distances: 0 is a perfect map.
    """

    points: Mapping[str, Point]
    eigenvalues: tuple[float, ...]
    share: float | Undefined
    stress: float | Undefined


def classical_scaling(names: Sequence[str], distance: Floats) -> Map:
    """Torgerson's (1952) scaling to two dimensions: a decomposition, with no start and no chance.

    Of each axis the coordinate that is largest in size is positive, the first by name where
    several are. The order of subjects does not matter. Raises ValueError as `tree.upgma` does.

    >>> found = classical_scaling(["x", "y", "z"], np.array([[0, 1, 3.0], [1, 0, 2], [3, 2, 0]]))
    >>> [round(found.points[name][0], 3) for name in "xyz"]  # three in a line
    [-1.333, -0.333, 1.667]
    """
    order, d = in_order(names, distance)
    n = len(order)
    if n == 0:
        none = Undefined("no_data")
        return Map({}, (), none, none)
    squares = d * d
    rows = squares.mean(axis=1)
    values, vectors = np.linalg.eigh(
        -(squares - rows[:, None] - rows + squares.mean()) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    places = np.zeros((n, 2))
    for axis in range(min(2, n)):
        if values[axis] > EVEN * abs(values).max():
            places[:, axis] = _signed(vectors[:, axis]) * sqrt(values[axis])
    points = {name: (float(x), float(y)) for name, (x, y) in zip(order, places, strict=True)}
    positive = float(values[values > 0].sum())
    share = float(np.maximum(values[:2], 0).sum()) / positive if positive > 0 else None
    return Map(points, tuple(values.tolist()),
               Undefined("one_class") if share is None else share, _stress(order, d, points))


def _signed(axis: Floats) -> Floats:
    sizes = np.abs(axis)
    first = int(np.argmax(sizes >= sizes.max() - EVEN))
    return axis if axis[first] > 0 else -axis


def _stress(
    names: Sequence[str], d: Floats, points: Mapping[str, Point]
) -> float | Undefined:
    off = total = 0.0
    for (i, one), (j, other) in combinations(enumerate(names), 2):
        off += (d[i, j] - dist(points[one], points[other])) ** 2
        total += d[i, j] ** 2
    return sqrt(off / total) if total > 0 else Undefined("one_class")


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle of the map, in its units."""

    centre: Point
    radius: float

    def holds(self, point: Point) -> bool:
        return dist(self.centre, point) <= self.radius * (1 + EVEN) + 1e-15


def smallest_circle(points: Sequence[Point]) -> Circle:
    """The smallest circle that holds all points (Welzl 1991, in the order of the points).

    It is fixed by two or three of them. Raises ValueError without a point.

    >>> smallest_circle([(0, 0), (2, 0), (1, 0.5)])
    Circle(centre=(1.0, 0.0), radius=1.0)
    """
    if not points:
        raise ValueError("no point to put a circle round")
    points = sorted(points)
    circle = Circle(points[0], 0.0)
    for i, p in enumerate(points):
        if circle.holds(p):
            continue
        circle = Circle(p, 0.0)
        for j, q in enumerate(points[:i]):
            if circle.holds(q):
                continue
            circle = _through(p, q)
            for r in points[:j]:
                if not circle.holds(r):
                    circle = _through_three(p, q, r)
    return circle


def _through(p: Point, q: Point) -> Circle:
    centre = (p[0] + q[0]) / 2, (p[1] + q[1]) / 2
    return Circle(centre, max(dist(centre, p), dist(centre, q)))


def _through_three(p: Point, q: Point, r: Point) -> Circle:
    (ax, ay), (bx, by) = (q[0] - p[0], q[1] - p[1]), (r[0] - p[0], r[1] - p[1])
    twice = 2 * (ax * by - ay * bx)
    if twice == 0:
        return max((_through(*pair) for pair in combinations((p, q, r), 2)),
                   key=lambda circle: circle.radius)
    a, b = ax * ax + ay * ay, bx * bx + by * by
    centre = p[0] + (by * a - ay * b) / twice, p[1] + (ax * b - bx * a) / twice
    return Circle(centre, max(dist(centre, point) for point in (p, q, r)))
