"""What the controller tells of an operator: the status of its resource, and the events worth a line."""

from gesscale.kubernetes.reporting.events import Telling
from gesscale.kubernetes.reporting.history import SettledChange
from gesscale.kubernetes.reporting.report import Report, report_fault, report_step
from gesscale.kubernetes.reporting.status import Seen, node_pool_of
from gesscale.kubernetes.reporting.writing import REFRESH_S

__all__ = [
    "REFRESH_S",
    "Report",
    "Seen",
    "SettledChange",
    "Telling",
    "node_pool_of",
    "report_fault",
    "report_step",
]
