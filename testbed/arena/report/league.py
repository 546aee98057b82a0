"""Tables of the league: both accounts, what no policy minimises, and the winner of each load."""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.arena.evaluation.standings import Account, Standing
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.names import CHANGE_PRICE, LatenessMeasure
from testbed.arena.report.formatting import NOTHING, figure, short_name
from testbed.arena.report.tables import Table, TableCell, TableRow, mean_cell

_LATENESS = {LatenessMeasure.MINUTES: ("late minutes", ""), LatenessMeasure.AREA: ("lag area", "min")}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueTables:
    """Tables of the standings of an experiment."""

    experiment: Experiment
    found: Sequence[Standing]
    #: Prices of a late minute, replica-minutes.
    prices: Sequence[float]
    #: Name of the policy that ratios refer to.
    baseline: str
    #: Lag from which the score counts a row as late, seconds.
    objective_s: float
    lateness: LatenessMeasure = LatenessMeasure.MINUTES

    def of_variant(self, variant: str) -> tuple[Table, ...]:
        """Return the tables of a variant."""
        standings = [standing for standing in self.found if standing.variant == variant]
        named = f", variant {variant}" if variant else ""
        key = f"league-{variant}" if variant else "league"
        objectives = f"objective of the policies {self.experiment.slo_s:g} s, of the score {self.objective_s:g} s"
        with_changes = f"cost with {CHANGE_PRICE:g} replica-minutes for each change"
        undone_min = self.experiment.undone_within_s / 60
        return (
            Table(
                key=key,
                caption=f"Over all loads{named}: {with_changes}, ratios to {self.baseline}; {objectives}",
                corner="policy",
                columns=(
                    ("knows the price", ""), ("replicas", ""), _LATENESS[self.lateness], ("changes", ""),
                    ("regret", "replica-min"), *self._account_columns(),
                ),
                rows=tuple(_row(each, *_usage(each), *self._account(each, each.with_changes)) for each in standings),
            ),
            Table(
                key=f"{key}-without-changes",
                caption=f"Cost without changes{named}: ratios to {self.baseline}",
                corner="policy",
                columns=self._account_columns(),
                rows=tuple(_row(each, *self._account(each, each.without_changes)) for each in standings),
            ),
            Table(
                key=f"{key}-side-effects",
                caption=f"What no policy minimises{named}: means over the loads",
                corner="policy",
                columns=(
                    ("age of a row, mean", "s"), ("age of a row, p99", "s"), ("time below the load", "%"),
                    (f"changes undone within {undone_min:g} min", ""),
                ),
                rows=tuple(_row(each, *_side_effects(each)) for each in standings),
            ),
        )  # fmt: skip

    def winners(self) -> Table:
        """Return the policy of lowest cost with changes on each load, for each variant and price."""
        variants = list(dict.fromkeys(standing.variant for standing in self.found))
        winner = {
            (standing.variant, load, price): short_name(standing.policy)
            for standing in self.found
            for price, loads in zip(self.prices, standing.with_changes.won, strict=True)
            for load in loads
        }
        rows = (
            TableRow(
                name=short_name(load),
                cells=(
                    TableCell(text=f"{price:g}"),
                    *(TableCell(text=winner.get((variant, load, price), NOTHING)) for variant in variants),
                ),
            )
            for load in self.experiment.workloads
            for price in self.prices
        )
        columns = (("price", ""), *((variant or "winner", "") for variant in variants))
        return Table(
            key="winners", caption="Lowest cost with changes on each load", corner="load", columns=columns,
            rows=tuple(rows),
        )  # fmt: skip

    @property
    def _has_oracle(self) -> bool:
        return any(standing.with_changes.above_oracle_pct is not None for standing in self.found)

    def _account_columns(self) -> tuple[tuple[str, str], ...]:
        costs = tuple((f"{what} at {price:g}", "") for price in self.prices for what in ("cost", "won"))
        middle = f"above oracle at {self.prices[len(self.prices) // 2]:g}"
        return (*costs, (middle, "%")) if self._has_oracle else costs

    def _account(self, standing: Standing, account: Account) -> tuple[TableCell, ...]:
        pairs = zip(account.total_costs, account.won, strict=True)
        costs = tuple(
            cell
            for cost, won in pairs
            for cell in (mean_cell(cost), TableCell(text=figure(len(won)) if standing.competes else ""))
        )
        return (*costs, mean_cell(account.above_oracle_pct)) if self._has_oracle else costs


def _row(standing: Standing, *cells: TableCell) -> TableRow:
    notes = [f"{standing.lost} of {standing.runs} lost"] if standing.lost else []
    notes += [] if standing.competes else ["reference"]
    return TableRow(name=short_name(standing.policy), note=", ".join(notes), policy=standing.policy, cells=cells)


def _usage(standing: Standing) -> tuple[TableCell, ...]:
    known = {True: "yes", False: "no", None: NOTHING}[standing.knows_price]
    figures = (standing.replicas, standing.late_min, standing.changes, standing.regret)
    return TableCell(text=known), *(mean_cell(each) for each in figures)


def _side_effects(standing: Standing) -> tuple[TableCell, ...]:
    figures = (standing.age_mean_s, standing.age_p99_s, standing.below_load_pct, standing.undone)
    return tuple(mean_cell(each) for each in figures)
