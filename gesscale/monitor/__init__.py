"""Metric sources: batch records from drivers, Prometheus and Kafka become one reading per operator."""

from gesscale.monitor.driver import DriverMetrics
from gesscale.monitor.kafka import KafkaOffsets
from gesscale.monitor.prometheus import PrometheusMetrics
from gesscale.monitor.window import summarise

__all__ = ["DriverMetrics", "KafkaOffsets", "PrometheusMetrics", "summarise"]
