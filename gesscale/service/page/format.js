// Formats figures.

export function figure(value, unit = "") {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  const text = value.toLocaleString("en", { maximumFractionDigits: digits });
  return unit ? `${text}\u00a0${unit}` : text;
}

export function percent(share) {
  return share === null || share === undefined ? "–" : `${Math.round(100 * share)}\u00a0%`;
}

export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  for (const [unit, size] of [["days", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= 2 * size) return `${Math.round(seconds / size)}\u00a0${unit}`;
  }
  return seconds < 10 ? `${seconds.toFixed(1)}\u00a0s` : `${Math.round(seconds)}\u00a0s`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

// A simulated run has no date: its times start at zero.
const YEAR_S = 365 * 86400;

export function hasDate(at_s) {
  return at_s >= YEAR_S;
}

function sinceBeginning(at_s) {
  const whole = Math.round(at_s);
  const two = (value) => String(value).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

export function clock(at_s) {
  if (!hasDate(at_s)) return sinceBeginning(at_s);
  return CLOCK.format(new Date(at_s * 1000));
}

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

// Round instants of a time axis in local time, up to a maximum number: {at_s, text}.
export function timeTicks(from_s, to_s, most) {
  const step_s = STEPS_S.find((each) => (to_s - from_s) / each <= most - 1) ?? Math.ceil((to_s - from_s) / most);
  const offset_s = hasDate(from_s) ? -60 * new Date(from_s * 1000).getTimezoneOffset() : 0;
  const first_s = Math.ceil((from_s + offset_s) / step_s) * step_s - offset_s;
  const text = (at_s) => (step_s >= 86400 && hasDate(at_s) ? DAY.format(new Date(at_s * 1000)) : step_s < 60 || !hasDate(at_s) ? clock(at_s) : clock(at_s).slice(0, 5));
  return Array.from({ length: Math.floor((to_s - first_s) / step_s) + 1 }, (_, index) => first_s + index * step_s).map((at_s) => ({ at_s, text: text(at_s) }));
}

export function moment(at_s) {
  if (!hasDate(at_s)) return sinceBeginning(at_s);
  const date = new Date(at_s * 1000);
  return `${DAY.format(date)}, ${CLOCK.format(date)}`;
}

export function shortened(text, most) {
  return text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}`;
}

// Changes of a decision, by node.
export function changesOf(point) {
  return [...point.add.map((node) => `+${node}`), ...point.remove.map((node) => `−${node}`)];
}

// Number of replicas before and after the decision.
export function countOf(point) {
  const [now, then] = [point.before.length, point.placement.length];
  return now === then ? `${now}` : `${now} → ${then}`;
}

export function replicas(count) {
  return `${count} replica${count === 1 ? "" : "s"}`;
}
