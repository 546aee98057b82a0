"""The engines that the simulator knows."""

from enum import StrEnum


class Engine(StrEnum):
    """What is simulated."""

    SPARK = "spark"
    FLINK = "flink"
