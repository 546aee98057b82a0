"""Policies that decide each operator on its own (paper IV-A)."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from gesscale.analyze.screening import screen
from gesscale.model.decision import Analysis
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.choosing import ChoosingPolicy
from gesscale.ports import Knowledge


@dataclass(frozen=True, slots=True)
class PerOperatorPolicy(ChoosingPolicy):
    """Screens the readings and leaves each to the policy."""

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Conclude for every operator what it needs; see `gesscale.ports.Policy`."""
        analyses = {}
        for name in self.workflow.operators:
            screened = screen(name, observation, knowledge, self.options.stabilization_window_s)
            if isinstance(screened, OperatorReading):
                screened = self.analyze_operator(screened, observation, knowledge)
            analyses[name] = screened
        return analyses

    @abstractmethod
    def analyze_operator(
        self, reading: OperatorReading, observation: WorkflowObservation, knowledge: Knowledge
    ) -> Analysis:
        """Conclude what an operator with a usable reading needs."""
