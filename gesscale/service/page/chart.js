// Charts over a shared time axis, one below the other; changes are marked in all of them.

import { h, svg } from "./dom.js";
import { figure, moment, timeTicks } from "./format.js";

const LEFT = 58;
const RIGHT = 14;
const TOP = 22;
const SIGN_WIDTH = 9;

// Round values for an axis from 0 to a maximum, at least two.
export function ticksUpTo(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const steps = [1, 2, 5, 10].map((each) => each * power);
  const step = steps.find((each) => each >= rough && each <= most) ?? steps.findLast((each) => each <= most);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, index) => index * step);
}

// At most a few points for each pixel, with the minimum and the maximum of the pixel.
export function thinned(values, most) {
  if (values.length <= 4 * most) return values;
  const size = Math.ceil(values.length / most);
  const kept = [];
  for (let start = 0; start < values.length; start += size) {
    const part = values.slice(start, start + size);
    const known = part.filter((each) => each[1] !== null);
    const ends = known.length ? [known.reduce((a, b) => (b[1] < a[1] ? b : a)), known.reduce((a, b) => (b[1] > a[1] ? b : a))] : [];
    kept.push(...new Set([part[0], ...ends, part.at(-1)].sort((a, b) => a[0] - b[0])));
  }
  return kept;
}

// A stepped value holds until the next known value; a line breaks at unknown values.
export function pathOf(values, x, y, stepped) {
  let text = "";
  let broken = true;
  for (const [at_s, value] of values) {
    if (value === null) { broken ||= !stepped; continue; }
    const [h, v] = [x(at_s).toFixed(1), y(value).toFixed(1)];
    if (broken) text += `M${h} ${v}`;
    else text += stepped ? `H${h}V${v}` : `L${h} ${v}`;
    broken = false;
  }
  return text;
}

function bandPath({ low, high }, x, y) {
  const known = low.map(([at_s, bottom], index) => [at_s, bottom, high[index][1]]).filter((each) => each[1] !== null && each[2] !== null);
  const box = ([at_s, bottom, top], index) => `M${x(at_s).toFixed(1)} ${y(top).toFixed(1)}H${x(known[index + 1]?.[0] ?? at_s).toFixed(1)}V${y(bottom).toFixed(1)}H${x(at_s).toFixed(1)}Z`;
  return known.map(box).join("");
}

function panel({ title, unit, series, band, height }, { x, width, marks, at_s, last }) {
  const values = series.flatMap((each) => each.values.map((value) => value[1] ?? 0));
  const most = Math.max(1, ...values) * 1.08;
  const heading = unit ? `${title}, ${unit}` : title;
  const bottom = height - (last ? 22 : 6);
  const y = (value) => bottom - ((bottom - TOP) * value) / most;
  return svg("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${heading} over time` },
    svg("text", { class: "chart-title", x: 0, y: 12 }, heading),
    ticksUpTo(most, height > 110 ? 4 : 2).map((value) => [
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, figure(value)),
    ]),
    marks.map((mark) => svg("line", { class: `mark ${mark.kind}`, x1: x(mark.at_s), x2: x(mark.at_s), y1: TOP, y2: bottom })),
    band ? svg("path", { class: "band", d: bandPath(band, x, y) }) : null,
    series.map((each) => svg("path", { class: `line ${each.kind}`, d: pathOf(thinned(each.values, width), x, y, each.stepped) })),
    series.map((each) => each.values.length === 1 && each.values[0][1] !== null
      ? svg("circle", { class: `dot ${each.kind}`, cx: x(each.values[0][0]), cy: y(each.values[0][1]), r: 3 }) : null),
    at_s === null ? null : svg("line", { class: "chosen", x1: x(at_s), x2: x(at_s), y1: TOP - 4, y2: bottom }),
    svg("line", { class: "pointer", x1: -9, x2: -9, y1: TOP, y2: bottom }),
    last ? last.ticks.map(({ at_s: instant_s, text }) => [
      svg("line", { class: "grid", x1: x(instant_s), x2: x(instant_s), y1: bottom, y2: bottom + 4 }),
      svg("text", { class: "tick", x: Math.min(width - 24, x(instant_s)), y: height - 5, "text-anchor": "middle" }, text),
    ]) : null);
}

// Keeps the first of marks that would overlap.
function apart(marks, x) {
  let end = -Infinity;
  return marks.filter((mark) => {
    if (x(mark.at_s) < end + SIGN_WIDTH) return false;
    end = x(mark.at_s);
    return true;
  });
}

// panels: {title, unit, height, series: [{name, kind, stepped, values: [[at_s, value or null]]}], band: {low, high}}
// marks: {at_s, kind, sign, words, href}; picked(at_s) is called with the instant of a click.
export function timeCharts({ width, from_s, to_s, at_s, panels, marks, instants, picked }) {
  const end_s = to_s > from_s ? to_s : from_s + 1;
  const x = (instant_s) => LEFT + ((width - LEFT - RIGHT) * (instant_s - from_s)) / (end_s - from_s);
  const shown = apart(marks, x);
  const nearest = (event) => {
    const box = charts.getBoundingClientRect();
    const wanted_s = from_s + ((event.clientX - box.left - LEFT) / (width - LEFT - RIGHT)) * (end_s - from_s);
    return instants.reduce((best, each) => (Math.abs(each - wanted_s) < Math.abs(best - wanted_s) ? each : best), instants[0]);
  };
  const readout = h("p", { class: "readout" }, "Point at a chart to read it; click to go to that time.");
  const read = (event) => {
    if (!instants.length) return;
    const instant_s = nearest(event);
    for (const line of charts.querySelectorAll(".pointer")) {
      line.setAttribute("x1", x(instant_s));
      line.setAttribute("x2", x(instant_s));
    }
    const parts = panels.flatMap((each) => each.series.map((one) => {
      const found = one.values.findLast((value) => value[0] <= instant_s);
      return `${one.name} ${figure(found ? found[1] : null, each.unit)}`;
    }));
    readout.textContent = `${moment(instant_s)}: ${parts.join(" · ")}`;
  };
  const strip = svg("svg", { class: "chart marks", width, height: 36, viewBox: `0 0 ${width} 36`, role: "group", "aria-label": "Changes over time" },
    svg("text", { class: "chart-title", x: 0, y: 12 }, "Changes"),
    shown.map((mark) => svg("a", { href: mark.href, "aria-label": mark.words },
      svg("title", {}, mark.words),
      svg("text", { class: `sign ${mark.kind}`, x: x(mark.at_s), y: 30, "text-anchor": "middle" }, mark.sign))));
  const charts = h("div", { class: "charts", onpointermove: read, onclick: (event) => instants.length && !event.target.closest("a") && picked(nearest(event)) },
    marks.length ? strip : null,
    panels.map((each, index) => panel(each, { x, width, marks: shown, at_s, last: index === panels.length - 1 ? { ticks: timeTicks(from_s, end_s, width > 560 ? 8 : 4) } : null })));
  return [charts, readout];
}
