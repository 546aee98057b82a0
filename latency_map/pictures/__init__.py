"""Pictures of maps: a heat map and nodes with links; layouts are pure, drawing needs the extra ``arena``."""

from latency_map.pictures.canvas import save
from latency_map.pictures.heat_map import draw_heat_map
from latency_map.pictures.node_link import draw_node_link

__all__ = ["draw_heat_map", "draw_node_link", "save"]
