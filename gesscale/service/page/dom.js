// Creates elements from values. Text stays text: no input is ever parsed as markup.

const SVG = "http://www.w3.org/2000/svg";
const LONGEST_NAME = 32;

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

// Replaces content and keeps focus, text selection and scroll position.
export function replaceContent(element, content) {
  const active = element.contains(document.activeElement) ? document.activeElement : null;
  const key = active?.dataset?.key;
  const selection = active && "selectionStart" in active ? [active.selectionStart, active.selectionEnd] : null;
  const scrolled = new Map([...element.querySelectorAll("[data-scroll]")].map((each) => [each.dataset.scroll, [each.scrollLeft, each.scrollTop]]));
  element.replaceChildren(...[content].flat(Infinity).filter(Boolean));
  for (const each of element.querySelectorAll("[data-scroll]")) [each.scrollLeft, each.scrollTop] = scrolled.get(each.dataset.scroll) ?? [0, 0];
  if (key === undefined) return;
  const again = element.querySelector(`[data-key="${CSS.escape(key)}"]`);
  again?.focus({ preventScroll: true });
  if (again && selection && selection[0] !== null) again.setSelectionRange(...selection);
}

// A name does not break at hyphens, unless it is longer than a line.
export function nameOf(text) {
  return h("span", { class: text.length <= LONGEST_NAME ? "unbroken" : null }, text);
}

export function namesOf(names) {
  return names.flatMap((name, index) => [index ? ", " : null, nameOf(name)]);
}

function classOf(head) {
  return [head.number && "number", head.spare && "wide"].filter(Boolean).join(" ") || null;
}

// heads: {text; number: align right; bare: no label in a stacked table; spare: hidden in narrow windows}
export function table(caption, heads, rows, attributes) {
  // In a stacked table the heads are hidden, so each cell that is not bare has a label.
  const cell = (value, index, tag) => h(tag, { class: classOf(heads[index]), scope: tag === "th" ? "row" : null, "data-head": heads[index].bare ? null : heads[index].text }, value ?? "–");
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption, "data-scroll": caption, ...attributes },
    h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: classOf(head) }, head.text)))),
      h("tbody", {}, rows.map((row) => h("tr", { class: row.class ?? null }, row.cells.map((value, index) => cell(value, index, index === 0 ? "th" : "td")))))));
}
