// The workflow as a graph: operators in columns by depth, from left to right, or downwards in narrow windows.

import { h, svg } from "./dom.js";
import { countOf, figure, shortened } from "./format.js";
import { pathOf } from "./chart.js";
import { STATES } from "./words.js";

const CARD = { width: 264, height: 152 };
const TRACE = { top: 102, height: 38 };

// Number of steps that the card of an operator shows.
export const MOST_TRACED = 60;

const GAP = { along: 56, across: 22 };
const SIDE = 40;

export function columnsOf(operators) {
  const depth = new Map();
  for (const each of operators) depth.set(each.name, Math.max(0, ...each.upstream.map((name) => (depth.get(name) ?? 0) + 1)));
  const columns = [];
  for (const each of operators) (columns[depth.get(each.name)] ??= []).push(each);
  const place = new Map();
  for (const column of columns) {
    const middle = (each) => each.upstream.length ? each.upstream.reduce((sum, name) => sum + (place.get(name) ?? 0), 0) / each.upstream.length : 0;
    column.sort((a, b) => middle(a) - middle(b));
    column.forEach((each, index) => place.set(each.name, index));
  }
  return columns;
}

function loadBar(point) {
  const capacity = point?.mst?.mid ?? null;
  const load = point?.input_rows_per_s ?? point?.throughput_rows_per_s ?? null;
  const inner = CARD.width - 26;
  if (load === null || !capacity) return svg("text", { class: "small", x: 14, y: 84 }, load === null ? "load unknown" : `load ${figure(load)} rows/s, capacity unknown`);
  return [
    svg("rect", { class: "capacity", x: 14, y: 74, width: inner, height: 7, rx: 3.5 }),
    svg("rect", { class: load > capacity ? "load over" : "load", x: 14, y: 74, width: Math.max(3, inner * Math.min(1, load / capacity)), height: 7, rx: 3.5 }),
    svg("text", { class: "small", x: 14, y: 96 }, `${figure(load)} of ${figure(capacity)} rows/s`),
  ];
}

// Load and capacity over the last steps, on one scale; empty with fewer than two values.
function trace(points) {
  const shown = points.slice(-MOST_TRACED);
  const [load, capacity] = [shown.map((point) => point.input_rows_per_s ?? point.throughput_rows_per_s), shown.map((point) => point.mst?.mid ?? null)];
  const known = [...load, ...capacity].filter((value) => value !== null);
  if (load.filter((value) => value !== null).length < 2) return null;
  const most = Math.max(1, ...known);
  const x = (index) => 14 + ((CARD.width - 26) * index) / (shown.length - 1);
  const y = (value) => TRACE.top + TRACE.height * (1 - value / most);
  const values = (series) => series.map((value, index) => [index, value]);
  return [
    svg("path", { class: "line capacity", d: pathOf(values(capacity), x, y, true) }),
    svg("path", { class: "line load", d: pathOf(values(load), x, y, false) }),
  ];
}

function card(operator, point, points, [x, y], href) {
  const state = STATES[point?.state ?? "unknown"];
  const backlog = point?.backlog_rows ?? null;
  const count = point ? countOf(point) : "–";
  return svg("a", { href, "data-key": `card ${operator.name}`, "aria-label": `${operator.name}: ${state.word}, ${count} of at most ${operator.max_replicas} replicas` },
    svg("g", { class: `card ${point?.state ?? "unknown"}`, transform: `translate(${x} ${y})` },
      svg("title", {}, `${operator.name}\n${point ? `${point.reason}: ${point.detail}` : "no decision yet"}`),
      svg("rect", { class: "frame", width: CARD.width, height: CARD.height, rx: 9 }),
      svg("rect", { class: "stripe", width: 5, height: CARD.height - 18, x: 0, y: 9, rx: 2.5 }),
      svg("text", { class: "name", x: 14, y: 25 }, shortened(operator.name, 28)),
      svg("text", { class: "state", x: 14, y: 44 }, `${state.sign} ${state.word}`),
      svg("text", { class: "small", x: CARD.width - 12, y: 44, "text-anchor": "end" }, `${count} of ${operator.min_replicas}–${operator.max_replicas} replicas`),
      svg("text", { class: "small", x: 14, y: 63 }, backlog === null ? "backlog unknown" : `backlog ${figure(backlog)} rows`),
      loadBar(point), trace(points)));
}

// Operators without streams between them fill the width, row by row.
function linesOf(operators, width) {
  const inLine = Math.max(1, Math.floor((width + GAP.across) / (CARD.width + GAP.across)));
  return Array.from({ length: Math.ceil(operators.length / inLine) }, (_, line) => operators.slice(line * inLine, (line + 1) * inLine));
}

export function workflowGraph(workflow, snapshot, historyOf, hrefOf, { width: room, narrow: isNarrow }) {
  const isLoose = workflow.operators.every((each) => !each.upstream.length);
  const narrow = isNarrow || isLoose;
  const byDepth = isLoose ? linesOf(workflow.operators, room) : columnsOf(workflow.operators);
  // In narrow windows operators are stacked; a stream that bypasses others runs along the left.
  const isList = isNarrow && !isLoose && byDepth.some((column) => column.length > 1);
  const columns = isList ? byDepth.flat().map((each) => [each]) : byDepth;
  const rowOf = new Map(columns.flatMap((column, row) => column.map((each) => [each.name, row])));
  const widest = Math.max(...columns.map((column) => column.length));
  const [along, across] = narrow ? [CARD.height, CARD.width] : [CARD.width, CARD.height];
  const gap = isLoose ? GAP.across : isList ? GAP.along / 2 : GAP.along;
  const total = widest * (across + GAP.across) - GAP.across;
  const places = new Map();
  columns.forEach((column, depth) => column.forEach((operator, index) => {
    const a = depth * (along + gap) + 2;
    const before = isLoose ? 0 : (total - (column.length * (across + GAP.across) - GAP.across)) / 2;
    const b = before + index * (across + GAP.across) + 2 + (isList ? SIDE : 0);
    places.set(operator.name, narrow ? [b, a] : [a, b]);
  }));
  const length = columns.length * (along + gap) - gap + 4;
  const [width, height] = narrow ? [total + 4 + (isList ? SIDE : 0), length] : [length, total + 4];
  const edges = workflow.operators.flatMap((operator) => operator.upstream.map((name) => {
    const [x1, y1] = places.get(name);
    const [x2, y2] = places.get(operator.name);
    if (isList && rowOf.get(operator.name) - rowOf.get(name) > 1) {
      const [ay, by] = [y1 + CARD.height / 2, y2 + CARD.height / 2];
      return svg("path", { class: "edge", d: `M${x1} ${ay}C${x1 - 1.3 * SIDE} ${ay} ${x2 - 1.3 * SIDE} ${by} ${x2} ${by}`, "marker-end": "url(#arrow)" });
    }
    const [ax, ay, bx, by] = narrow
      ? [x1 + CARD.width / 2, y1 + CARD.height, x2 + CARD.width / 2, y2]
      : [x1 + CARD.width, y1 + CARD.height / 2, x2, y2 + CARD.height / 2];
    const [cx, cy] = narrow ? [0, gap / 2] : [gap / 2, 0];
    return svg("path", { class: "edge", d: `M${ax} ${ay}C${ax + cx} ${ay + cy} ${bx - cx} ${by - cy} ${bx} ${by}`, "marker-end": "url(#arrow)" });
  }));
  return h("div", { class: "scroll graph", "data-scroll": "graph" },
    svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Operators and the streams between them" },
      svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { class: "arrow", d: "M0 0L8 4L0 8Z" }))),
      edges,
      workflow.operators.map((operator) => card(operator, snapshot.get(operator.name), historyOf(operator.name), places.get(operator.name), hrefOf(operator.name)))));
}
