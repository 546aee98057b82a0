"""What a node-link picture shows and where: names, clusters, places in points, and where labels go."""

import math
from dataclasses import dataclass

import numpy as np

from latency_map.clusters import clusters, symmetric_rtt_ms
from latency_map.delays import Delays
from latency_map.matrix import LatencyMap
from latency_map.pictures.canvas import label_of
from latency_map.pictures.layout import Layout, Spacing, arrange
from latency_map.pictures.links import Link
from latency_map.survey import Survey

NAMES_UP_TO = 64
"""Most nodes of a map whose nodes are drawn with their names; beyond, as dots."""

LABELS_UP_TO = 16
"""Most nodes of a map whose links inside clusters have their delay written on them."""

NAME_PT = 9.0
DOT_PT = 7.0

_CHARACTER_PT = 5.6
_MANY_CLUSTERS = 12
_BEND = 0.16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeLinkLayout:
    """What is drawn.

    Attributes
    ----------
    latencies
        The survey with its nodes by name and the larger direction of each pair.
    labels
        What is written for each node.
    groups
        The clusters, by position.
    boxes_pt
        Shape ``(n, 2)``: widths and heights of the nodes.
    layout
        Where everything is.
    named
        Whether nodes show their names.
    """

    latencies: LatencyMap
    labels: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    boxes_pt: Delays
    layout: Layout
    named: bool

    @property
    def bounds_pt(self) -> tuple[Delays, Delays]:
        """The least and the greatest coordinates of all boxes and circles."""
        radii = self.layout.radii_pt[:, None]
        low = np.vstack([self.layout.places_pt - self.boxes_pt / 2, self.layout.centres_pt - radii])
        high = np.vstack([self.layout.places_pt + self.boxes_pt / 2, self.layout.centres_pt + radii])
        return low.min(axis=0), high.max(axis=0)


def set_scene(survey: Survey) -> NodeLinkLayout:
    """Lay out a survey.

    Parameters
    ----------
    survey
        Any survey.

    Returns
    -------
    NodeLinkLayout
        The same for the same nodes and delays, whatever their order.
    """
    names = tuple(sorted(survey.names))
    unordered = LatencyMap(names=survey.names, rtt_ms=symmetric_rtt_ms(survey))
    latencies = unordered.subset(names)
    groups = tuple(tuple(latencies.positions(cluster)) for cluster in clusters(survey))
    named = len(names) <= NAMES_UP_TO
    labels = tuple(label_of(names).values())
    widths = [_CHARACTER_PT * len(label) + 12 if named else DOT_PT for label in labels]
    boxes = np.column_stack([widths, np.full(len(names), 2 * NAME_PT if named else DOT_PT)])
    unlabelled_pt = 8.0 if named else 3.0
    spacing = Spacing(
        node_pt=30.0 if len(names) <= LABELS_UP_TO else unlabelled_pt,
        cluster_pt=64.0 if len(groups) <= _MANY_CLUSTERS else 24.0,
    )
    layout = arrange(latencies.rtt_ms, groups, boxes, spacing)
    return NodeLinkLayout(
        latencies=latencies, labels=labels, groups=groups, boxes_pt=boxes, layout=layout, named=named
    )


def bend(scene: NodeLinkLayout, link: Link) -> tuple[float, Delays]:
    """Return how a link is bent to keep clear of straight ones, inwards.

    Returns
    -------
    float and numpy.ndarray
        The ``rad`` of Matplotlib's ``arc3``, and the top of the arc.
    """
    a, b = scene.layout.places_pt[[link.a, link.b]]
    low, high = scene.bounds_pt
    side_files = np.array([b[1] - a[1], a[0] - b[0]])
    middle = (a + b) / 2
    rad = _BEND if side_files @ ((low + high) / 2 - middle) >= 0 else -_BEND
    return rad, middle + side_files * rad / 2


def middle_between_nodes(scene: NodeLinkLayout, link: Link) -> Delays:
    """Return the middle of what is seen of a link between the boxes of its nodes."""
    a, b = scene.layout.places_pt[[link.a, link.b]]
    out, back = (_share_in_box(b - a, scene.boxes_pt[row] / 2) for row in (link.a, link.b))
    middle: Delays = a + (b - a) * (out + 1 - back) / 2
    return middle


def middle_between_discs(scene: NodeLinkLayout, link: Link) -> Delays:
    """Return the middle of what is seen of a link between the discs of its nodes."""
    a, b = scene.layout.places_pt[[link.a, link.b]]
    disc_of = {row: number for number, group in enumerate(scene.groups) for row in group}
    out = _share_in_disc(scene, a, b, disc_of[link.a])
    back = _share_in_disc(scene, b, a, disc_of[link.b])
    middle: Delays = a + (b - a) * (out + 1 - back) / 2
    return middle


def _share_in_box(way: Delays, half_box: Delays) -> float:
    reaches = [float(half) / abs(float(step)) for half, step in zip(half_box, way, strict=True) if step]
    return min([*reaches, 0.5])


def _share_in_disc(scene: NodeLinkLayout, start: Delays, end: Delays, number: int) -> float:
    """How much of the way from a point in a disc lies in that disc: where it meets the circle."""
    way, offset = end - start, start - scene.layout.centres_pt[number]
    squared, radius = float(way @ way), float(scene.layout.radii_pt[number])
    half = float(way @ offset)
    root = math.sqrt(max(half**2 - squared * (float(offset @ offset) - radius**2), 0.0))
    return min(max((root - half) / squared, 0.0), 1.0) if squared else 0.0
