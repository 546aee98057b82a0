// One operator over time: load, capacity, replicas and decisions.

import { h, namesOf, table } from "./dom.js";
import { changesOf, figure, moment, percent, span } from "./format.js";
import { STATES, explained, outcomeMeaning } from "./words.js";
import { goTo, linkTo } from "./address.js";
import { timeCharts } from "./chart.js";

export function chosenOperator(model, place) {
  const workflow = model.workflowNamed(place.workflow);
  return workflow.operators.find((each) => each.name === place.operator) ?? workflow.operators[0];
}

export function operatorChooser(model, place) {
  const workflow = model.workflowNamed(place.workflow);
  if (workflow.operators.length < 2) return null;
  const chosen = chosenOperator(model, place);
  return h("p", { class: "chooser" }, h("label", {}, "Operator ",
    h("select", { "data-key": "operator", onchange: (event) => goTo(place, { operator: event.target.value, open: "" }) },
      workflow.operators.map((each) => h("option", { value: each.name, selected: each === chosen }, each.name)))));
}

export function changeMarks(points, place) {
  return points.filter((point) => point.add.length || point.remove.length).map((point) => {
    const kind = !point.acted ? "advised" : point.add.length > point.remove.length ? "more" : point.add.length < point.remove.length ? "fewer" : "moved";
    return {
      at_s: point.at_s, kind, sign: { advised: "△", more: "▲", fewer: "▼", moved: "◆" }[kind],
      words: `${moment(point.at_s)}: ${changesOf(point).join(" ")}, ${point.reason}${point.acted ? "" : ` (${outcomeMeaning(point.outcome)})`}`,
      href: linkTo(place, { view: "decisions", operator: point.operator, open: `${point.at_s}`, at_s: place.at_s }),
    };
  });
}

export function operatorView(model, place, { width }) {
  const workflow = model.workflowNamed(place.workflow);
  const operator = chosenOperator(model, place);
  const points = model.pointsOf(workflow.name).filter((point) => point.operator === operator.name);
  const now = points.findLast((point) => place.at_s === null || point.at_s <= place.at_s) ?? null;
  if (now === null) return [h("h1", {}, operator.name), operatorChooser(model, place), h("p", { class: "empty" }, "No decision yet. The first step runs immediately; if there is none, see Health.")];
  const decision = model.decision(workflow.name, operator.name, now.at_s);
  return [
    h("h1", {}, operator.name, " ", h("span", { class: `badge ${now.state}` }, `${STATES[now.state].sign} ${STATES[now.state].word}`)),
    operatorChooser(model, place),
    h("p", { class: "lead" }, h("b", {}, now.reason), " ", explained(now.reason, now.detail), " ",
      h("a", { href: linkTo(place, { view: "decisions", operator: operator.name, open: `${now.at_s}` }) }, "Why?")),
    facts(operator, now, decision),
    chartsOf(points, place, width),
    modelOf(decision),
  ];
}

function facts(operator, now, decision) {
  const pairs = [
    ["load", figure(now.input_rows_per_s, "rows/s")], ["throughput", figure(now.throughput_rows_per_s, "rows/s")],
    ["capacity (MST)", now.mst ? `${figure(now.mst.mid, "rows/s")} (${figure(now.mst.low)} to ${figure(now.mst.high)})` : "unknown"],
    ["oldest row", ageWords(now.row_age)], ["backlog", figure(now.backlog_rows, "rows")], ["saturated batches", percent(now.saturated_share)], ["time in batches", percent(now.busy_share)], ["CPU", cpuWords(now, decision)],
    ["replicas", `${now.before.length} of ${operator.min_replicas} to ${operator.max_replicas}`], ["NDmax", figure(now.nd_max_ms, "ms")],
    ["changes, last hour", changesWords(now.changes)],
    ["nodes", nodesOf(operator, now)],
  ];
  return h("dl", { class: "facts" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function cpuWords(now, decision) {
  if (now.cpu_share === null) return "not reported";
  const shares = Object.entries(decision?.analysis.reading?.by_node ?? {}).map(([node, each]) => `${node} ${percent(each.cpu_share)}`);
  return [percent(now.cpu_share), shares.join(", ")].filter(Boolean).join(": ");
}

export function ageWords(age) {
  if (!age || age.seconds === null) return age ? `age unknown; objective ${span(age.objective_s)}` : "age not measured";
  const late = age.late_s ? `; late for ${span(age.late_s)} since the scaler started` : "";
  return `${age.is_least ? "over " : ""}${span(age.seconds)} of ${span(age.objective_s)}${late}`;
}

function changesWords(changes) {
  return changes ? `${changes.ordered}, ${changes.undone} undone within 10 min` : "not known";
}

function nodesOf({ driver_node }, { before }) {
  const named = before.length ? namesOf(before.map((node) => (node === driver_node ? `${node} (driver)` : node))) : "not known";
  return before.includes(driver_node) ? named : [named, "; driver on ", namesOf([driver_node])];
}

function chartsOf(points, place, width) {
  const of = (take) => points.map((point) => [point.at_s, take(point) ?? null]);
  const panels = [
    { title: "Rates", unit: "rows/s", height: narrowHeight(width, 210), band: { low: of((p) => p.mst?.low), high: of((p) => p.mst?.high) }, series: [
      { name: "load", kind: "load", values: of((p) => p.input_rows_per_s) }, { name: "throughput", kind: "throughput", values: of((p) => p.throughput_rows_per_s) },
      { name: "capacity", kind: "capacity", stepped: true, values: of((p) => p.mst?.mid) }] },
    { title: "Oldest row", unit: "s", height: 104, series: [
      { name: "age", kind: "backlog", values: of((p) => p.row_age?.seconds) }, { name: "objective", kind: "capacity", stepped: true, values: of((p) => p.row_age?.objective_s) }] },
    { title: "Replicas", unit: "", height: 84, series: [{ name: "replicas", kind: "count", stepped: true, values: of((p) => p.before.length) }] },
    { title: "NDmax", unit: "ms", height: 84, series: [{ name: "NDmax", kind: "delay", stepped: true, values: of((p) => p.nd_max_ms) }] },
    { title: "Backlog", unit: "rows", height: 104, series: [{ name: "backlog", kind: "backlog", values: of((p) => p.backlog_rows) }] },
  ];
  return h("section", { "aria-label": "Over time" },
    h("h2", {}, "Over time"),
    h("ul", { class: "legend" }, [["load", "load"], ["throughput", "throughput"], ["capacity", "capacity of the model, with its interval"]].map(([kind, words]) => h("li", {}, h("span", { class: `swatch ${kind}` }), words)),
      h("li", {}, h("span", { class: "sign more" }, "▲"), " replicas added"), h("li", {}, h("span", { class: "sign fewer" }, "▼"), " removed"), h("li", {}, h("span", { class: "sign advised" }, "△"), " advised only"),
      points.some((point) => point.acted && point.add.length && point.add.length === point.remove.length) ? h("li", {}, h("span", { class: "sign moved" }, "◆"), " moved") : null),
    timeCharts({ width, from_s: points[0].at_s, to_s: points.at(-1).at_s, at_s: place.at_s, panels, marks: changeMarks(points, place), instants: points.map((point) => point.at_s),
      picked: (at_s) => goTo(place, { at_s }, { replace: true }) }));
}

function narrowHeight(width, height) {
  return width < 560 ? 0.8 * height : height;
}

function modelOf(decision) {
  return h("section", { "aria-label": "Model" }, h("h2", {}, "The model"), modelBody(decision));
}

function modelBody(decision) {
  if (decision === undefined) return h("p", { class: "note" }, "Loading.");
  const model = decision?.analysis?.model;
  if (!model) return h("p", {}, "This decision has no model: there is no evidence yet, or the policy has none.");
  const used = model.laws.find((law) => law.law === model.law);
  return [
    h("p", {}, h("b", {}, model.law), ` decides. ${fitWords(model, used)}`),
    model.laws.map((law) => lawTable(law, law === used)),
    model.warnings.map((warning) => h("p", { class: "note" }, warning)),
  ];
}

function fitWords(model, used) {
  if (!used?.readings) return "It is not fitted: there is no evidence yet.";
  if (used.held_out_error_pct === null) return "It is not fitted: with one placement there is no other to predict. Each further placement is compared.";
  const error = `It predicts placements that it was not fitted to with a mean error of ${oneDigit(used.held_out_error_pct)} %`;
  return model.fitted ? `It is fitted. ${error}.` : `It is not fitted. ${error}, which is too much or over too few placements (${used.conditions}).`;
}

// Meaning and display factor of each parameter.
const PARAMETERS = {
  alpha: ["α: rows/s of one replica", 1], beta: ["β: exponent of the replicas", 1], gamma: ["γ: rows/s lost per ms of NDmax", 1],
  fixed_s: ["time of a batch without rows or distance, s", 1], row_s: ["time of a row on one replica, ms", 1000], shared_row_s: ["time of a row that replicas do not share, ms", 1000],
  driver_trips: ["round trips to the driver in a batch", 1], pair_trips: ["round trips between replicas in a batch", 1],
  even_share: ["share of a row's time that waits for the slowest replica", 1],
};

function lawTable(law, inUse) {
  const error = law.held_out_error_pct === null ? "held-out error not known" : `held-out error ${oneDigit(law.held_out_error_pct)} % over ${law.conditions} placements`;
  const rows = law.parameters.map((each) => {
    const [words, factor] = PARAMETERS[each.name] ?? [`${each.name}, ${each.unit}`, 1];
    const interval = each.low === null || each.high === null ? "–" : `${precise(factor * each.low)} to ${precise(factor * each.high)}`;
    return { cells: [words, precise(factor * each.value), interval, each.identified ? "evidence" : "not identified yet"] };
  });
  const heads = [{ text: "parameter" }, { text: "value", number: true }, { text: "90 % interval", number: true }, { text: "based on" }];
  return table(`Law ${law.law}${inUse ? ", in use" : ""}: ${error}, ${law.readings} readings`, heads, rows, { class: "scroll snug stack" });
}

function oneDigit(value) {
  return value.toLocaleString("en", { maximumFractionDigits: 1 });
}

function precise(value) {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
}

export function costWords(cost) {
  if (!cost) return "not known";
  const gap = cost.downtime_s === null ? "downtime unknown" : `longest stop with rows waiting ${span(cost.downtime_s)}`;
  return cost.first_tasks_s === null ? gap : `${gap}; first tasks on the ordered nodes after ${span(cost.first_tasks_s)}`;
}
