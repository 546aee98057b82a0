// The state of the view is in the address, so it can be shared, and the back button works.

export const VIEWS = { workflow: "Workflow", operator: "Operator", nodes: "Nodes", decisions: "Decisions", health: "Health" };

// #/VIEW?workflow=…&operator=…&at=…
export function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const given = new URLSearchParams(query ?? "");
  const view = path in VIEWS ? path : "workflow";
  const at = Number.parseFloat(given.get("at"));
  const text = (name) => given.get(name) ?? "";
  return {
    view,
    workflow: text("workflow"),
    operator: text("operator"),
    at_s: Number.isFinite(at) ? at : null,
    open: text("open"),
    node: text("node"),
    as: text("as"),
    only: text("only"),
    search: text("search"),
  };
}

export function addressOf(place) {
  const given = new URLSearchParams();
  for (const name of ["workflow", "operator", "open", "node", "as", "only", "search"]) {
    if (place[name]) given.set(name, place[name]);
  }
  if (place.at_s !== null) given.set("at", place.at_s);
  const query = given.toString();
  return `#/${place.view}${query ? `?${query}` : ""}`;
}

// The same place with changes; another view drops the parameters of the old one.
export function linkTo(place, changes) {
  const kept = changes.view && changes.view !== place.view ? { ...place, open: "", as: "", only: "", search: "", node: "" } : place;
  return addressOf({ ...kept, ...changes });
}

export function goTo(place, changes, { replace = false } = {}) {
  const address = linkTo(place, changes);
  if (replace) {
    history.replaceState(null, "", address);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = address;
}
