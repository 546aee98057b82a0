// The nodes by their delays: where replicas run, and why a node has none.

import { h, nameOf, svg, table } from "./dom.js";
import { figure, shortened } from "./format.js";
import { goTo, linkTo } from "./address.js";
import { delaysOf, farthestPair, fitted, placesOf } from "./distances.js";
import { chosenOperator, operatorChooser } from "./view_operator.js";
import { lastComparison, ineligibleNodes, whyNot } from "./why.js";

const MOST_IN_HEAT_MAP = 60;
const MOST_NEAREST = 20;
const FEW_ON_MAP = 40;
const ROOM_FOR_WORDS = 130;
const KINDS = { replica: ["●", "holds a replica"], driver: ["▣", "runs the driver only"], free: ["○", "free"], ineligible: ["✕", "ineligible"] };

export function nodesView(model, place, { width, narrow }) {
  const workflow = model.workflowNamed(place.workflow);
  const operator = chosenOperator(model, place);
  const nodes = model.nodesOf(workflow.name);
  const head = [h("h1", {}, "Nodes"), operatorChooser(model, place)];
  if (nodes === undefined) return [head, h("p", { class: "note" }, "Loading the latency map.")];
  if (!nodes || !nodes.names.length) return [head, h("p", { class: "empty" }, "No latency map yet. Start the latency agents, or name a file in the settings: latency_map.file.")];
  const now = model.snapshot(workflow.name, place.at_s).get(operator.name) ?? null;
  const seen = looked(model, workflow, operator, place, nodes, now);
  const heat = place.as === "heat";
  return [
    head,
    h("p", { class: "chooser" }, h("a", { href: linkTo(place, { as: "" }), "aria-current": heat ? null : "true", "data-key": "as map" }, "Map"), " ", h("a", { href: linkTo(place, { as: "heat" }), "aria-current": heat ? "true" : null, "data-key": "as heat" }, "Heat map")),
    nodes.problem ? h("p", { class: "problem" }, `The cluster could not be read: ${nodes.problem}`) : null,
    h("div", { class: "columns" }, heat ? heatMap(nodes, place, seen, width) : nodeMap(nodes, place, seen, narrow ? width : width - 368), about(nodes, place, operator, seen)),
    nodes.omitted ? h("p", { class: "note" }, `${nodes.omitted} nodes of the map are not shown; all nodes in use are.`) : null,
    nodes.not_in_map.length ? h("p", { class: "note" }, `Not in the latency map: ${nodes.not_in_map.join(", ")}.`) : null,
  ];
}

function looked(model, workflow, operator, place, nodes, now) {
  const decision = now ? model.decision(workflow.name, operator.name, now.at_s) : null;
  const earlier = now ? lastComparison(model, workflow, operator, now.at_s) : null;
  const delayOf = delaysOf(nodes);
  const placement = now?.placement ?? [];
  const members = [...new Set([operator.driver_node, ...placement])].filter((name) => nodes.names.includes(name));
  const ineligible = ineligibleNodes(decision, operator, place.at_s === null ? nodes : null);
  const kindOf = (name) => placement.includes(name) ? "replica" : name === operator.driver_node ? "driver" : ineligible[name] ? "ineligible" : "free";
  return { now, decision, earlier, delayOf, members, kindOf, ineligible, worst: farthestPair(members, delayOf), driver: operator.driver_node };
}

function nodeMap(nodes, place, seen, width) {
  const few = nodes.names.length <= FEW_ON_MAP;
  const height = Math.max(340, Math.min(560, 0.58 * width));
  const spots = fitted(placesOf(nodes.names, nodes.rtt_ms), width, height, few ? [84, 62] : [26, 26]);
  const spotOf = new Map(nodes.names.map((name, index) => [name, spots[index]]));
  const selected = spotOf.has(place.node) ? place.node : null;
  const from = selected ?? seen.driver;
  const line = (a, b, kind) => {
    const [[x1, y1], [x2, y2]] = [spotOf.get(a), spotOf.get(b)];
    return svg("line", { class: `link ${kind}`, x1, y1, x2, y2 });
  };
  const isWorst = (a, b) => seen.worst && seen.worst.a === a && seen.worst.b === b;
  const links = selected
    ? seen.members.filter((name) => name !== selected).map((name) => line(selected, name, "selected"))
    : seen.members.flatMap((a, index) => seen.members.slice(index + 1).map((b) => line(a, b, isWorst(a, b) ? "worst" : "")));
  const marks = nodes.names.map((name) => {
    const [x, y] = spotOf.get(name);
    const kind = seen.kindOf(name);
    const delays = seen.members.filter((other) => other !== name).map((other) => `${other} ${figure(seen.delayOf(name, other), "ms")}`).join(", ");
    return svg("a", { href: linkTo(place, { node: name }), "data-key": `node ${name}`, "aria-label": `${name}: ${KINDS[kind][1]}` },
      svg("g", { class: `node ${kind}${name === selected ? " selected" : ""}`, transform: `translate(${x} ${y})` },
        svg("title", {}, `${name}: ${KINDS[kind][1]}\nround trips: ${delays}`),
        svg("circle", { r: few ? 13 : 7 }),
        kind === "free" ? null : svg("text", { class: "kind", y: few ? 4.5 : 3.5, "text-anchor": "middle" }, KINDS[kind][0]),
        few || kind === "replica" || name === selected ? svg("text", { class: "name halo", y: few ? 29 : 20, "text-anchor": "middle" }, shortened(name, 14)) : null,
        few && spotOf.has(from) ? svg("text", { class: "small halo", y: 43, "text-anchor": "middle" }, [name === seen.driver ? "driver" : "", name === from ? "" : figure(seen.delayOf(from, name), "ms")].filter(Boolean).join(", ")) : null));
  });
  return h("figure", { class: "nodes" },
    h("div", { class: "scroll", "data-scroll": "map" }, svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Nodes; nearer nodes have a shorter round trip" }, links, marks, selected ? null : worstWords(seen.worst, spotOf))),
    h("figcaption", {}, "Nearer nodes have a shorter round trip. ", few && spotOf.has(from) ? `At each node: its round trip to ${from}. ` : null,
      Object.values(KINDS).map(([sign, words]) => h("span", { class: "sample" }, `${sign} ${words}`))));
}

// A label in the middle of the longest line, if it is long enough.
function worstWords(worst, spotOf) {
  if (!worst) return null;
  const [[x1, y1], [x2, y2]] = [spotOf.get(worst.a), spotOf.get(worst.b)];
  return Math.abs(x2 - x1) < ROOM_FOR_WORDS ? null : svg("text", { class: "small halo", x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 6, "text-anchor": "middle" }, `NDmax ${figure(worst.ms, "ms")}`);
}

function heatMap(nodes, place, seen, width) {
  const names = [...seen.members, ...nodes.names.filter((name) => !seen.members.includes(name))].slice(0, MOST_IN_HEAT_MAP);
  const top = Math.max(1, ...names.flatMap((a) => names.map((b) => seen.delayOf(a, b) ?? 0)));
  const cell = (a, b) => {
    const ms = a === b ? 0 : seen.delayOf(a, b);
    const share = ms === null ? 0 : Math.sqrt(ms / top);
    return h("td", { class: `heat${share > 0.55 ? " far" : ""}`, "--heat": ms === null ? null : `${Math.round(100 * share)}%`, title: `${a} – ${b}: ${figure(ms, "ms")}` }, a === b ? "" : figure(ms));
  };
  return h("figure", { class: "nodes" },
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Heat map", "data-scroll": "heat" },
      h("table", { class: "matrix" }, h("caption", {}, `Round trips, ms; the nodes of the placement first${nodes.names.length > names.length ? `, ${names.length} of ${nodes.names.length}` : ""}`),
        h("thead", {}, h("tr", {}, h("td", {}), names.map((name) => h("th", { scope: "col" }, shortened(name, 10))))),
        h("tbody", {}, names.map((a) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: linkTo(place, { node: a }) }, `${KINDS[seen.kindOf(a)][0]} ${shortened(a, 14)}`)), names.map((b) => cell(a, b))))))));
}

function about(nodes, place, operator, seen) {
  const chooser = h("p", {}, h("label", {}, "Node ", h("select", { "data-key": "node", onchange: (event) => goTo(place, { node: event.target.value }) },
    h("option", { value: "" }, "choose one"), [...nodes.names, ...nodes.not_in_map].map((name) => h("option", { value: name, selected: name === place.node }, name)))));
  const box = (...content) => h("section", { class: "aside", "aria-label": "One node" }, chooser, content);
  if (!place.node) return box(h("p", {}, `Choose a node to see why it holds a replica of ${operator.name}, or why not.`),
    seen.worst ? h("p", {}, "The farthest pair of the placement, driver's node included, is ", h("b", {}, nameOf(seen.worst.a), " – ", nameOf(seen.worst.b)), `: NDmax ${figure(seen.worst.ms, "ms")}.`) : null,
    nearest(nodes, place, seen));
  if (seen.now === null) return box(h("p", {}, "No decision yet at that time."));
  const why = whyNot(place.node, operator, seen);
  const delays = seen.members.filter((name) => name !== place.node).map((name) => ({ cells: [nameOf(name), figure(seen.delayOf(place.node, name))] }));
  return box(h("h2", {}, nameOf(place.node)), h("p", {}, h("b", { class: "why" }, why.word), " ", why.text),
    delays.length ? table("Round trips to the placement", [{ text: "node" }, { text: "ms", number: true }], delays) : null);
}

// All delays to the driver's node as a table, the nearest first.
function nearest(nodes, place, seen) {
  const far = (name) => (name === seen.driver ? 0 : seen.delayOf(name, seen.driver) ?? Infinity);
  const rows = [...nodes.names].sort((a, b) => far(a) - far(b)).slice(0, MOST_NEAREST).map((name) => {
    const [sign, words] = KINDS[seen.kindOf(name)];
    return { cells: [h("a", { href: linkTo(place, { node: name }) }, nameOf(name)), figure(far(name)), `${sign} ${words}`] };
  });
  return table(rows.length < nodes.names.length ? `The ${MOST_NEAREST} of ${nodes.names.length} nearest to the driver` : "The nearest to the driver first", [{ text: "node" }, { text: "ms", number: true }, { text: "is" }], rows);
}
