// Source of a run: the scaler that served this page, or a record in the page.

const SILENT_MS = 40_000;
const RETRY_MS = 5_000;

async function fetchJson(path, parameters = {}) {
  const answer = await fetch(`${path}?${new URLSearchParams(parameters)}`);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

export class LiveSource {
  // Of one workflow; a page may stay open for weeks.
  mostPoints = 6000;

  // Events show that the scaler is alive. Without them, as after a sleep or a restart, everything is fetched again.
  follow(model) {
    let heard_ms = Date.now();
    let stream = null;
    const lost = () => {
      stream?.close();
      stream = null;
      model.connection = "lost";
      model.changed();
    };
    const open = async () => {
      heard_ms = Date.now();
      const opening = new EventSource("api/events");
      stream = opening;
      const hear = (name, take) => opening.addEventListener(name, (event) => {
        heard_ms = Date.now();
        if (stream === opening) take(JSON.parse(event.data));
      });
      hear("step", (step) => {
        if (model.workflows.some((each) => each.name === step.workflow)) model.takeStep(step.workflow, step.points);
        else fetchJson("api/run").then((run) => model.takeRun(run), lost);
      });
      hear("alive", (head) => model.takeHead(head));
      opening.addEventListener("error", () => stream === opening && lost());
      try {
        model.takeRun(await fetchJson("api/run"));
        if (stream === opening) model.connection = "live";
        model.changed();
      } catch {
        if (stream === opening) lost();
      }
    };
    open();
    setInterval(() => {
      if (stream !== null && Date.now() - heard_ms > SILENT_MS) lost();
      if (stream === null) open();
    }, RETRY_MS);
    addEventListener("online", () => stream === null && open());
  }

  async points(workflow) {
    return (await fetchJson("api/points", { workflow })).points;
  }

  decision(workflow, operator, at_s) {
    return fetchJson("api/decision", { workflow, operator, at_s });
  }

  nodes(workflow) {
    return fetchJson("api/nodes", { workflow });
  }
}

export class RecordedSource {
  mostPoints = Infinity;

  constructor(record) {
    this.record = record;
  }

  follow(model) {
    model.connection = "recorded";
    model.takeRun(this.record.run);
  }

  async points(workflow) {
    return this.record.points[workflow] ?? [];
  }

  async decision(workflow, operator, at_s) {
    return (this.record.decisions[workflow] ?? []).find((each) => each.operator === operator && each.at_s === at_s) ?? null;
  }

  async nodes(workflow) {
    return this.record.nodes[workflow] ?? null;
  }
}

export function sourceOfThisPage() {
  const record = document.getElementById("recorded");
  return record === null ? new LiveSource() : new RecordedSource(JSON.parse(record.textContent));
}
