"""Pictures of maps: heat maps, and graphs of nodes and links. Drawing needs the extra ``arena``."""

from latency_map.pictures.figure import picture_path, save
from latency_map.pictures.heat_map import draw_heat_map
from latency_map.pictures.node_link import draw_node_link

__all__ = ["draw_heat_map", "draw_node_link", "picture_path", "save"]
