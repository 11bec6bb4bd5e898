"""A step along a direction that goes down enough and ends where it is flatter: the strong Wolfe conditions.

First the step grows until a bracket holds such a point, then the bracket shrinks around it. Both go by the lowest point
of the cubic through two points and their slopes (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

ENOUGH_DOWN = 1e-4
ENOUGH_FLATTER = 0.9


class Point(NamedTuple):
    """A point on the line: how far along, the loss there, its gradient, and its slope along the line."""

    at: float
    loss: float
    grad: Any
    slope: float


class StrongWolfe:
    """The search.

    Args:
        look: the point at a distance along the line.
        start: the point at distance 0.
        width: the largest component of the direction.
        tolerance: brackets in which nothing moves by more than this are left alone.
        most: how many points are tried.
        down: the part of what the first slope promises that the loss must go down by.
        flatter: the part of the first slope that may be left.
    """

    def __init__(
        self,
        look: Callable[[float], Point],
        start: Point,
        width: float,
        tolerance: float = 1e-9,
        most: int = 25,
        down: float = ENOUGH_DOWN,
        flatter: float = ENOUGH_FLATTER,
    ) -> None:
        self._look = look
        self._start = start
        self._width = width
        self._tolerance = tolerance
        self._most = most
        self._down = down
        self._flatter = flatter
        self._tries = 0
        self.evaluations: int = 0

    def find(self, first: float) -> Point:
        """A point that fulfils the conditions, or the best there is."""
        new = self._point(first)
        bracket = self._bracket(new)
        if len(bracket) == 1:
            return bracket[0]
        return self._shrunk(bracket)

    def _point(self, at: float) -> Point:
        self.evaluations += 1
        return self._look(at)

    def _too_high(self, point: Point) -> bool:
        return point.loss > self._start.loss + self._down * point.at * self._start.slope

    def _flat_enough(self, point: Point) -> bool:
        return abs(point.slope) <= -self._flatter * self._start.slope

    def _bracket(self, new: Point) -> list[Point]:
        """Two points with a good one between them, or a good one."""
        before = self._start
        while self._tries < self._most:
            if self._too_high(new) or (self._tries > 1 and new.loss >= before.loss):
                return [before, new]
            if self._flat_enough(new):
                return [new]
            if new.slope >= 0:
                return [before, new]
            bounds = new.at + 0.01 * (new.at - before.at), new.at * 10
            before, new = new, self._point(lowest(before, new, bounds))
            self._tries += 1
        return [self._start, new]

    def _shrunk(self, bracket: list[Point]) -> Point:
        """The lower end of the bracket, when it fulfils the conditions or the bracket is small."""
        low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        stalled = False
        while self._tries < self._most:
            if abs(bracket[1].at - bracket[0].at) * self._width < self._tolerance:
                break
            at, stalled = _inside(bracket, stalled)
            new = self._point(at)
            self._tries += 1
            if self._too_high(new) or new.loss >= bracket[low].loss:
                bracket[high] = new
                low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
                continue
            if self._flat_enough(new):
                return new
            if new.slope * (bracket[high].at - bracket[low].at) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new
        return bracket[low]


def _inside(bracket: list[Point], stalled: bool) -> tuple[float, bool]:
    """Where to look next, kept off the ends if the last look was near one; and whether this one is."""
    least, most = sorted((bracket[0].at, bracket[1].at))
    at = lowest(bracket[0], bracket[1], None)
    margin = 0.1 * (most - least)
    if min(most - at, at - least) >= margin:
        return at, False
    if stalled or at >= most or at <= least:
        return (most - margin if abs(at - most) < abs(at - least) else least + margin), False
    return at, True


def lowest(p: Point, q: Point, bounds: tuple[float, float] | None) -> float:
    """Where the cubic through two points and their slopes is lowest, within bounds: by default, between the points."""
    left, right = (p, q) if p.at <= q.at else (q, p)
    least, most = (left.at, right.at) if bounds is None else bounds
    middle = p.slope + q.slope - 3 * (p.loss - q.loss) / (p.at - q.at)
    square = middle * middle - p.slope * q.slope
    if square < 0:
        return (least + most) / 2
    root = sqrt(square)
    gap = right.at - left.at
    at = right.at - gap * ((right.slope + root - middle) / (right.slope - left.slope + 2 * root))
    return min(max(at, least), most)
