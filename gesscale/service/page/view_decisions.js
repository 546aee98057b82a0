// Decisions and their reasons; an opened one shows all figures and the rejected candidates.

import { h, nameOf, namesOf, table } from "./dom.js";
import { changesOf, clock, figure, moment, percent, replicas } from "./format.js";
import { explained, outcomeMeaning } from "./words.js";
import { goTo, linkTo } from "./address.js";
import { delaysOf } from "./distances.js";
import { chosenOperator, costWords, operatorChooser } from "./view_operator.js";
import { lastComparison, rejectionText, ineligibleNodes, whyNot } from "./why.js";

const MOST_SHOWN = 300;

export function decisionsView(model, place) {
  const workflow = model.workflowNamed(place.workflow);
  const operator = chosenOperator(model, place);
  const points = model.pointsOf(workflow.name).filter((point) => point.operator === operator.name && (place.at_s === null || point.at_s <= place.at_s));
  const open_s = Number.parseFloat(place.open);
  const isChange = (point) => point.add.length || point.remove.length;
  const opened = points.find((point) => point.at_s === open_s) ?? points.findLast(isChange) ?? points.at(-1) ?? null;
  const runs = grouped(points, place.only === "changes", opened?.at_s).reverse();
  const only = h("label", { class: "check" }, h("input", { type: "checkbox", "data-key": "only", checked: place.only === "changes", onchange: (event) => goTo(place, { only: event.target.checked ? "changes" : "" }) }), " only changes");
  return [
    h("h1", {}, "Decisions"),
    h("div", { class: "choosers" }, operatorChooser(model, place), h("p", { class: "chooser" }, only)),
    runs.length ? null : h("p", { class: "empty" }, place.only ? "No change yet. Untick “only changes” to see why not." : "No decision yet. The first step runs immediately; if there is none, see Health."),
    h("div", { class: "columns wide" },
      h("ol", { class: "timeline", "data-scroll": "timeline", "aria-label": "Decisions, newest first" }, runs.slice(0, MOST_SHOWN).map((run) => line(run, place, opened))),
      opened ? detail(model, place, workflow, operator, opened) : null)];
}

// Consecutive decisions with the same reason and no change share a line, which links to the newest.
export function grouped(points, onlyChanges, open_s) {
  const runs = [];
  for (const point of points) {
    const quiet = !point.add.length && !point.remove.length;
    if (quiet && onlyChanges) continue;
    const last = runs.at(-1);
    if (quiet && last?.quiet && last.newest.reason === point.reason && last.newest.at_s !== open_s && point.at_s !== open_s) runs[runs.length - 1] = { ...last, newest: point, count: last.count + 1 };
    else runs.push({ quiet, first_s: point.at_s, newest: point, count: 1 });
  }
  return runs;
}

function line({ quiet, first_s, newest, count }, place, opened) {
  const kind = quiet ? "quiet" : !newest.acted ? "advised" : newest.add.length >= newest.remove.length ? "more" : "fewer";
  return h("li", { class: kind }, h("a", { href: linkTo(place, { open: `${newest.at_s}` }), "aria-current": opened === newest ? "true" : null, "data-key": `at ${newest.at_s}` },
    h("span", { class: `sign ${kind}`, "aria-hidden": "true" }, { quiet: "·", advised: "△", more: "▲", fewer: "▼" }[kind]),
    h("span", { class: "when" }, clock(newest.at_s)),
    h("span", {}, h("b", {}, newest.reason), " ",
      h("span", { class: "what" }, quiet ? `· ${replicas(newest.placement.length)}` : [`· ${newest.before.length} → ${newest.placement.length}:`, changesOf(newest).map((change) => [" ", nameOf(change)])], count > 1 ? `, ${count} times since ${clock(first_s)}` : ""))));
}

function detail(model, place, workflow, operator, point) {
  const decision = model.decision(workflow.name, operator.name, point.at_s);
  const head = [h("h2", {}, moment(point.at_s)), h("p", { class: "lead" }, h("b", {}, point.reason), " ", explained(point.reason, point.detail))];
  if (decision === undefined) return h("section", { class: "aside", "aria-label": "One decision" }, head, h("p", { class: "note" }, "Loading."));
  if (decision === null) return h("section", { class: "aside", "aria-label": "One decision" }, head, h("p", { class: "note" }, "The details are no longer kept; gesscale explain reads the knowledge file."));
  const changed = point.add.length || point.remove.length;
  return h("section", { class: "aside", "aria-label": "One decision" },
    head,
    pairs("Observed", [["load", figure(point.input_rows_per_s, "rows/s")], ["throughput", figure(point.throughput_rows_per_s, "rows/s")], ["backlog", figure(point.backlog_rows, "rows")],
      ["saturated batches", percent(point.saturated_share)], ["placement", point.before.length ? namesOf(point.before) : "unknown"], ["latency map", point.map_problem || "usable"]]),
    pairs("Concluded", [["verdict", [point.verdict, decision.analysis?.detail ? `: ${decision.analysis.detail}` : ""]], ["capacity now", estimate(decision.analysis?.mst)], changed && ["capacity planned", estimate(decision.plan?.mst)],
      decision.analysis?.headroom_pct != null && ["headroom", figure(decision.analysis.headroom_pct, "%")],
      ["NDmax", changed ? `${figure(point.nd_max_ms)} → ${figure(point.planned_nd_max_ms, "ms")}` : figure(point.nd_max_ms ?? point.planned_nd_max_ms, "ms")]].filter(Boolean)),
    candidates(decision.plan?.candidates ?? [], point),
    rejections(decision.plan?.rejections ?? [], [operator.driver_node, ...point.placement], delaysOf(model.nodesOf(workflow.name))),
    pairs("Result", [["outcome", [outcomeMeaning(point.outcome), point.problem ? ` ${point.problem}` : ""]], ...(changed && point.acted ? [["downtime", costWords(model.costsOf(workflow.name, operator.name).get(point.at_s))]] : [])]),
    asked(model, place, workflow, operator, point, decision),
    h("p", {}, h("a", { href: linkTo(place, { view: "nodes", at_s: point.at_s }) }, "The nodes at this time"), " · ", h("a", { href: linkTo(place, { view: "operator", at_s: point.at_s }) }, "the operator at this time")));
}

function estimate(mst) {
  return mst ? `${figure(mst.mid, "rows/s")} (${figure(mst.low)} to ${figure(mst.high)})` : "unknown";
}

function pairs(title, listed) {
  return [h("h3", {}, title), h("dl", { class: "pairs" }, listed.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))))];
}

function candidates(listed, point) {
  if (!listed.length) return null;
  const most = Math.max(...listed.map((each) => each.mst?.mid ?? 0), 1);
  const rows = listed.map((each) => ({
    class: each.replicas === point.placement.length && !(each.moved && !point.add.length) ? "chosen" : null,
    cells: [`${each.replicas}${each.moved ? `, ${each.moved} moved` : ""}`, h("span", { class: "bar", "--share": `${(100 * (each.mst?.mid ?? 0)) / most}%` }, figure(each.mst?.mid)),
      figure(each.mst?.low), figure(each.wait_s), figure(each.late_s)],
  }));
  return [h("h3", {}, "Numbers of replicas"),
    table("Predicted capacity in rows/s, and how long the last row of the next minute would wait if the load is high", [{ text: "replicas" }, { text: "capacity", number: true }, { text: "at least", number: true, spare: true }, { text: "wait, s", number: true }, { text: "late, s", number: true }], rows)];
}

function rejections(listed, chosen, delayOf) {
  if (!listed.length) return null;
  const rows = listed.flatMap((each) => [{ cells: [nameOf(each.node), each.reason, each.detail || rejectionText(each, chosen, delayOf)] }, ...others(each)]);
  return [h("h3", {}, "Rejected candidates"), table("Nodes that took no replica", [{ text: "node" }, { text: "reason" }, { text: "by how much" }], rows)];
}

function others(last) {
  return last.others ? [{ cells: [`${last.others} others`, last.reason, last.other_nodes?.length ? namesOf(last.other_nodes) : "Only the nearest have figures."] }] : [];
}

function asked(model, place, workflow, operator, point, decision) {
  const nodes = model.nodesOf(workflow.name);
  const isNewest = model.latest(workflow.name).get(operator.name) === point;
  const ineligible = ineligibleNodes(decision, operator, isNewest ? nodes : null);
  const names = [...new Set([...(nodes?.names ?? []), ...(nodes?.not_in_map ?? []), ...point.placement, ...(decision.plan?.rejections ?? []).map((each) => each.node), ...Object.keys(ineligible)])].sort();
  if (!names.length) return null;
  const earlier = lastComparison(model, workflow, operator, point.at_s);
  const why = place.node ? whyNot(place.node, operator, { now: point, decision, ineligible, earlier, delayOf: delaysOf(nodes) }) : null;
  return [h("h3", {}, "Why not?"),
    h("p", {}, h("label", {}, "Why is no replica on ", h("select", { "data-key": "node", onchange: (event) => goTo(place, { node: event.target.value }) },
      h("option", { value: "" }, "choose a node"), names.map((name) => h("option", { value: name, selected: name === place.node }, name))))),
    why ? h("p", { "aria-live": "polite" }, h("b", { class: "why" }, why.word), " ", why.text) : null];
}
