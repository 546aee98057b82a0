"""What the controller tells of an operator: the status of its resource, and the events worth a line."""

from gesscale.kubernetes.reporting.report import StepReport, report_fault, report_step
from gesscale.kubernetes.reporting.status import ObservedStep, node_pool_of

__all__ = [
    "ObservedStep",
    "StepReport",
    "node_pool_of",
    "report_fault",
    "report_step",
]
