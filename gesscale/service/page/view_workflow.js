// Operators of a workflow as a graph, and as a list with the worst first.

import { h, nameOf, table } from "./dom.js";
import { changesOf, clock, countOf, figure } from "./format.js";
import { STATES, WORST_FIRST, meaning } from "./words.js";
import { goTo, linkTo } from "./address.js";
import { MOST_TRACED, workflowGraph } from "./graph.js";

const FEW = 8;
const MOST_DRAWN = 60;
const MAX_LISTED = 200;
const LAST_CHANGES = 6;

export function workflowView(model, place, size) {
  const chosen = model.workflowNamed(place.workflow);
  const fleet = model.workflows.length > 1 && !place.workflow;
  const shown = fleet ? model.workflows : [chosen];
  const rows = shown.flatMap((workflow) => {
    const snapshot = fleet ? model.latest(workflow.name) : model.snapshot(workflow.name, place.at_s);
    return workflow.operators.map((operator) => ({ workflow, operator, point: snapshot.get(operator.name) ?? null }));
  });
  const title = fleet ? `${model.workflows.length} workflows` : chosen.name === "workflow" ? "Workflow" : chosen.name;
  return [
    h("h1", {}, title),
    counts(rows, place),
    fleet ? null : graphOf(model, place, chosen, size),
    listOf(rows, place, fleet),
    fleet ? null : lastChanges(model, place, chosen),
    legend(),
  ];
}

function stateOf(row) {
  return row.point?.state ?? "unknown";
}

// With many operators, a click on a state filters them.
function counts(rows, place) {
  const number = (state) => rows.filter((row) => stateOf(row) === state).length;
  return h("p", { class: "counts" }, WORST_FIRST.filter(number).map((state) => h(rows.length < FEW ? "span" : "a", { class: `badge ${state}`, href: rows.length < FEW ? null : linkTo(place, { search: place.search === state ? "" : state }), "data-key": `count ${state}` }, `${STATES[state].sign} ${figure(number(state))} ${STATES[state].word}`)));
}

function graphOf(model, place, workflow, size) {
  if (workflow.operators.length > MOST_DRAWN) return h("p", { class: "note" }, `${figure(workflow.operators.length)} operators are too many for a graph; use the table below.`);
  const snapshot = model.snapshot(workflow.name, place.at_s);
  const history = new Map(workflow.operators.map((each) => [each.name, []]));
  for (const point of model.pointsOf(workflow.name)) if (place.at_s === null || point.at_s <= place.at_s) history.get(point.operator)?.push(point);
  return [
    workflowGraph(workflow, snapshot, (name) => history.get(name), (operator) => linkTo(place, { view: "operator", workflow: workflow.name, operator }), size),
    h("p", { class: "note" }, `Bar: load, of the capacity. Lines, over the last ${MOST_TRACED} steps: `, ["load", "capacity"].map((kind) => h("span", { class: "sample" }, h("span", { class: `swatch ${kind}` }), kind))),
  ];
}

function listOf(rows, place, fleet) {
  const wanted = place.search.toLowerCase();
  const found = rows.filter((row) => `${row.workflow.name} ${row.operator.name} ${stateOf(row)} ${row.point?.reason ?? ""}`.toLowerCase().includes(wanted));
  found.sort((a, b) => WORST_FIRST.indexOf(stateOf(a)) - WORST_FIRST.indexOf(stateOf(b)) || (b.point?.backlog_rows ?? 0) - (a.point?.backlog_rows ?? 0));
  const heads = [{ text: "operator" }, { text: "state", bare: true }, { text: "load, rows/s", number: true }, { text: "capacity, rows/s", number: true },
    { text: "backlog, rows", number: true }, { text: "replicas", number: true }, { text: "NDmax, ms", number: true }, { text: "newest decision", bare: true }];
  const lines = found.slice(0, MAX_LISTED).map(({ workflow, operator, point }) => ({
    cells: [
      h("a", { href: linkTo(place, { view: "operator", workflow: workflow.name, operator: operator.name }) }, fleet ? [nameOf(`${workflow.name}:`), " ", nameOf(operator.name)] : nameOf(operator.name)),
      h("span", { class: `badge ${point?.state ?? "unknown"}` }, `${STATES[point?.state ?? "unknown"].sign} ${STATES[point?.state ?? "unknown"].word}`),
      figure(point?.input_rows_per_s), figure(point?.mst?.mid), figure(point?.backlog_rows),
      point ? `${countOf(point)} of ${operator.max_replicas}` : "–", figure(point?.nd_max_ms),
      point ? inShort(point) : "no decision yet",
    ],
  }));
  const search = rows.length < FEW ? null : h("p", {}, h("label", {}, "Find ",
    h("input", { type: "search", value: place.search, "data-key": "search", placeholder: "name, state or reason", oninput: (event) => goTo(place, { search: event.target.value }, { replace: true }) })));
  return h("section", { "aria-label": "Operators, worst first" },
    h("h2", {}, "Operators, worst first"),
    search,
    lines.length ? table(found.length === rows.length ? `${figure(rows.length)} operator${rows.length === 1 ? "" : "s"}` : `${figure(found.length)} of ${figure(rows.length)} operators`, heads, lines, { class: "scroll stack" }) : h("p", {}, `No operator matches “${place.search}”.`),
    found.length > MAX_LISTED ? h("p", { class: "note" }, `The first ${MAX_LISTED} are shown; search for the others.`) : null);
}

// The reason, and the first part of its detail; a click shows all of it.
function inShort(point) {
  return h("span", { title: point.detail }, h("b", {}, point.reason), ` ${point.detail.split("; ")[0] || meaning(point.reason)}`);
}

function lastChanges(model, place, workflow) {
  const points = model.pointsOf(workflow.name).filter((point) => (place.at_s === null || point.at_s <= place.at_s) && (point.add.length || point.remove.length));
  if (!points.length) return null;
  const lines = points.slice(-LAST_CHANGES).reverse().map((point) => ({ cells: [
    h("a", { href: linkTo(place, { view: "decisions", workflow: workflow.name, operator: point.operator, open: `${point.at_s}` }) }, clock(point.at_s)),
    nameOf(point.operator), `${point.before.length} → ${point.placement.length}`, changesOf(point).map((change, index) => [index ? " " : null, nameOf(change)]), [inShort(point), point.acted ? null : " Advised only."],
  ] }));
  return h("section", { "aria-label": "Last changes" }, h("h2", {}, "Last changes"),
    table(points.length > LAST_CHANGES ? `The last ${LAST_CHANGES} of ${figure(points.length)}` : "All known changes", ["at", "operator", "replicas", "nodes", "why"].map((text) => ({ text, bare: text === "why" })), lines, { class: "scroll stack" }));
}

function legend() {
  return h("details", {}, h("summary", {}, "States"),
    h("dl", {}, WORST_FIRST.map((state) => [h("dt", {}, h("span", { class: `badge ${state}` }, `${STATES[state].sign} ${STATES[state].word}`)), h("dd", {}, STATES[state].means)])));
}

