// Health of the scaler: findings and what to do about them.

import { h, nameOf, table } from "./dom.js";
import { moment, span } from "./format.js";
import { advice, explained } from "./words.js";
import { linkTo } from "./address.js";
import { ageWords } from "./view_operator.js";

const NEEDS_ATTENTION = ["MetricsMissing", "MetricsStale", "LatencyMapMissing", "LatencyMapStale", "PolicyFailed", "ClusterUnavailable", "NoCandidateNode", "AtMaxReplicas", "DelayEatsGain", "SinkLimit", "HotPartition", "PartitionLimit", "IdleLimit", "CapLimits"];
const LATE_PERIODS = 3;
const MOST_WORKFLOWS = 100;

// Findings {level: "bad" or "warn", title, text, todo, href}, the worst first.
export function findingsOf(model, place) {
  const found = (model.head?.problems ?? []).map(({ code, message, action }) => ({ level: "bad", title: `Scaler: ${code}`, text: message, todo: action }));
  if (model.connection === "lost") found.push({ level: "bad", title: "This page", text: "The scaler does not respond; this page shows old data.", todo: "Check that it runs, and that kubectl port-forward or the tunnel is up. This page reconnects automatically." });
  for (const workflow of model.workflows) {
    const age_s = (model.head.now_s ?? 0) - workflow.last_step_s;
    if (model.connection !== "recorded" && place.at_s === null && age_s > Math.max(LATE_PERIODS * workflow.period_s, 60)) {
      found.push({ level: "bad", title: workflow.name, text: `The newest step was ${span(age_s)} ago; the period is ${span(workflow.period_s)}.`, todo: "Check the log of the scaler." });
    }
    const snapshot = snapshotOf(model, place, workflow);
    const maps = new Set();
    for (const { name } of workflow.operators) {
      const point = snapshot.get(name);
      if (!point) continue;
      const href = linkTo(place, { view: "decisions", workflow: workflow.name, operator: name, open: `${point.at_s}` });
      if (NEEDS_ATTENTION.includes(point.reason)) found.push({ level: point.reason.startsWith("At") || point.reason.startsWith("De") ? "warn" : "bad", title: `${name}: ${point.reason}`, text: explained(point.reason, point.detail), todo: advice(point.reason), href });
      const age = point.row_age;
      if (age && age.seconds > age.objective_s) found.push({ level: "bad", title: `${name}: rows are late`, text: `The oldest row waits for ${ageWords(age)}.`, todo: "See the decision: it gives the reason why no replica is added, or shows that one starts.", href });
      if (point.outcome === "Failed" || point.outcome === "PartlyApplied") found.push({ level: "bad", title: `${name}: the change failed`, text: point.problem, todo: "Check the driver and the nodes in the message; the next step tries again.", href });
      if (point.map_problem && !maps.has(point.map_problem)) {
        maps.add(point.map_problem);
        found.push({ level: "warn", title: `${workflow.name}: latency map`, text: point.map_problem, todo: advice("LatencyMapStale"), href: "" });
      }
    }
  }
  return found.sort((a, b) => (a.level === b.level ? 0 : a.level === "bad" ? -1 : 1));
}

// With several workflows, the chosen instant applies to the chosen workflow only; the others are current.
function snapshotOf(model, place, workflow) {
  return model.workflows.length > 1 && workflow.name !== place.workflow ? model.latest(workflow.name) : model.snapshot(workflow.name, place.at_s);
}

export function healthView(model, place) {
  const found = findingsOf(model, place);
  return [
    h("h1", {}, "Health"),
    found.length ? h("ul", { class: "findings" }, found.map((each) => h("li", { class: each.level },
      h("h2", {}, h("span", { "aria-hidden": "true" }, each.level === "bad" ? "✖ " : "▲ "), each.title),
      h("p", {}, each.text, each.href ? [" ", h("a", { href: each.href }, "Decision")] : null),
      each.todo ? h("p", { class: "todo" }, h("b", {}, "What to do: "), each.todo) : null)))
      : h("p", { class: "well" }, "✔ No problems: steps complete, metrics are fresh, the latency map is usable, no change failed, and no row is late."),
    agesOf(model, place),
    h("p", { class: "note" }, "Checked here: completed steps; ages of metrics and latency map; errors and missing permissions of the cluster; failed changes; failed policies; limits and nodes that are exhausted; ages of rows."),
  ];
}

// A line for each workflow, the oldest step first.
function agesOf(model, place) {
  const rows = model.workflows.map((workflow) => {
    const points = [...snapshotOf(model, place, workflow).values()];
    const oldest = (take) => points.map(take).filter((each) => each !== null && each !== undefined).reduce((most, each) => Math.max(most, each), -1);
    return { workflow, at_s: points.length ? Math.max(...points.map((point) => point.at_s)) : workflow.last_step_s, batch_s: oldest((point) => point.metrics_age_s), map_s: oldest((point) => point.map_age_s) };
  }).sort((a, b) => a.at_s - b.at_s);
  const age = (words, seconds, otherwise) => (seconds < 0 ? otherwise : `${words} ${span(seconds)} earlier`);
  const heads = ["workflow", "newest step", "metrics", "latency map"].map((text) => ({ text }));
  return h("section", { "aria-label": "Ages" }, h("h2", {}, "Ages"),
    table(rows.length > MOST_WORKFLOWS ? `The ${MOST_WORKFLOWS} oldest of ${rows.length}` : "At the newest step; the oldest value of all operators", heads, rows.slice(0, MOST_WORKFLOWS).map((row) => ({
      cells: [nameOf(row.workflow.name), `${moment(row.at_s)}, every ${span(row.workflow.period_s)}`, age("newest batch", row.batch_s, "age unknown"), age("measured", row.map_s, "age unknown: its source does not report it")],
    })), { class: "scroll stack" }));
}
