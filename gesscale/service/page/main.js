// The page: header, navigation, time, and the view of the address. Everything is redrawn on each change.

import { h, replaceContent } from "./dom.js";
import { clock, hasDate, moment, span } from "./format.js";
import { VIEWS, goTo, linkTo, readAddress } from "./address.js";
import { RunModel } from "./model.js";
import { sourceOfThisPage } from "./source.js";
import { workflowView } from "./view_workflow.js";
import { operatorView } from "./view_operator.js";
import { nodesView } from "./view_nodes.js";
import { decisionsView } from "./view_decisions.js";
import { findingsOf, healthView } from "./view_health.js";

const SHOWN = { workflow: workflowView, operator: operatorView, nodes: nodesView, decisions: decisionsView, health: healthView };
const NARROW = 760;
const BUILD = document.querySelector("meta[name=build]").content;

const part = (id) => document.getElementById(id);
let due = false;

function drawSoon() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    draw();
  });
}

const model = new RunModel(sourceOfThisPage(), drawSoon);

function draw() {
  const place = readAddress();
  const main = part("content");
  document.title = `${VIEWS[place.view]} · gesscale`;
  replaceContent(part("head"), headOf(place));
  replaceContent(part("views"), viewsOf(place));
  drawTime(place);
  if (model.head === null) replaceContent(main, h("p", { class: "empty" }, model.connection === "lost" ? "The scaler does not respond. This page reconnects automatically." : "Loading the run."));
  else if (!model.workflows.length) replaceContent(main, nothingYet(place));
  else replaceContent(main, viewOf(place, { width: main.clientWidth - 32, narrow: innerWidth < NARROW }));
}

function viewOf(place, size) {
  try {
    return SHOWN[place.view](model, place, size);
  } catch (error) {
    return [h("h1", {}, VIEWS[place.view]), h("p", { class: "problem" }, `This view cannot show the data (${error.message}). Try another view, or gesscale explain in a terminal.`)];
  }
}

function nothingYet(place) {
  return [h("h1", {}, "No workflow yet"),
    h("p", { class: "empty" }, "No step has run yet. On Kubernetes: apply a StreamAutoscaler. Elsewhere: check the settings and the log of gesscale run."),
    findingsOf(model, place).map((each) => h("p", { class: "problem" }, each.text))];
}

// With several workflows, two views show all of them if none is chosen; the others show one.
function isOverAll(place) {
  return model.workflows.length > 1 && !place.workflow && ["workflow", "health"].includes(place.view);
}

function headOf(place) {
  const connection = { connecting: "○ connecting", live: "● live", lost: "✖ not connected", recorded: "◼ recorded run" }[model.connection];
  const workflow = isOverAll(place) ? null : model.workflowNamed(place.workflow);
  const fleet = model.workflows.length > 1 ? h("label", {}, "Workflow ", h("select", { "data-key": "workflow", onchange: (event) => goTo(place, { view: "workflow", workflow: event.target.value, operator: "", at_s: null, search: "" }) },
    h("option", { value: "" }, `all ${model.workflows.length}`), model.workflows.map((each) => h("option", { value: each.name, selected: each === workflow }, each.name)))) : null;
  const other = model.connection === "live" && model.head.build !== BUILD;
  return [
    h("p", { class: "brand" }, h("b", {}, "gesscale"), " ", h("span", { class: `connection ${model.connection}`, role: "status" }, connection)),
    model.head?.title ? h("p", { class: "about" }, model.head.title) : null,
    workflow ? h("p", { class: "about" }, `policy ${workflow.policy}, a step every ${span(workflow.period_s)}`) : null,
    fleet,
    other ? h("p", { class: "problem" }, `gesscale ${model.head.version} has been started; this page is of another version. `, h("button", { type: "button", onclick: () => location.reload() }, "Reload")) : null,
  ];
}

function viewsOf(place) {
  const ills = model.head === null ? 0 : findingsOf(model, place).length;
  return h("ul", {}, Object.entries(VIEWS).map(([view, title]) => h("li", {}, h("a", { href: linkTo(place, { view }), "aria-current": view === place.view ? "page" : null, "data-key": `view ${view}` },
    title, view === "health" && ills ? h("span", { class: "ills" }, ` ${ills}`) : null))));
}

// The slider stays the same element, so that it can be dragged while steps arrive.
const slider = h("input", { type: "range", id: "instant", min: 0, step: 1, "aria-label": "Instant", oninput: () => chooseInstant(Number(slider.value)) });
const shown = h("output", { for: "instant" });
const before = h("button", { type: "button", "aria-label": "previous change", onclick: () => jump(-1) }, "◀ ", h("span", { class: "wide" }, "change"));
const after = h("button", { type: "button", "aria-label": "next change", onclick: () => jump(1) }, h("span", { class: "wide" }, "change"), " ▶");
const end = h("button", { type: "button", class: "end", onclick: () => goTo(readAddress(), { at_s: null }, { replace: true }) });
let instants = [];

function drawTime(place) {
  const workflow = model.workflowNamed(place.workflow);
  const bar = part("time");
  if (!bar.childElementCount) bar.append(before, slider, after, shown, end);
  instants = workflow && !isOverAll(place) ? model.instantsOf(workflow.name) : [];
  bar.hidden = instants.length < 2;
  slider.max = Math.max(1, instants.length - 1);
  const index = place.at_s === null ? instants.length - 1 : instants.findLastIndex((each) => each <= place.at_s);
  slider.value = Math.max(0, index);
  const recorded = model.connection === "recorded";
  end.textContent = recorded ? "End" : "Live";
  end.setAttribute("aria-pressed", String(place.at_s === null));
  const at_s = instants[Math.max(0, index)];
  shown.replaceChildren(...(at_s === undefined ? [] : recorded ? recordedMoment(at_s) : [moment(at_s)]));
  slider.setAttribute("aria-valuetext", shown.textContent);
}

// The time of day, and the time since the start of the run.
function recordedMoment(at_s) {
  const since_s = at_s - instants[0];
  return hasDate(at_s) ? [`${clock(at_s)}, ${since_s < 600 ? `${Math.round(since_s)} s` : span(since_s)}`, h("span", { class: "wide" }, " after the start")] : [clock(at_s)];
}

function chooseInstant(index) {
  goTo(readAddress(), { at_s: index >= instants.length - 1 ? null : instants[index] }, { replace: true });
}

function jump(direction) {
  const place = readAddress();
  const workflow = model.workflowNamed(place.workflow);
  const now_s = place.at_s ?? (direction < 0 ? Infinity : instants.at(-1));
  const changes = [...new Set(model.pointsOf(workflow.name).filter((point) => point.add.length || point.remove.length).map((point) => point.at_s))];
  const found = direction < 0 ? changes.findLast((each) => each < now_s) : changes.find((each) => each > now_s);
  if (found !== undefined) goTo(place, { at_s: found }, { replace: true });
}

// A newly opened view starts at the top; an updated view keeps its scroll position.
let view = readAddress().view;
addEventListener("hashchange", () => {
  draw();
  if (readAddress().view === view) return;
  view = readAddress().view;
  scrollTo(0, 0);
});
addEventListener("resize", drawSoon);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  part("content").focus();
});
model.source.follow(model);
draw();
