// Data of a run, from a live scaler or a record.

// Opening another workflow drops the history of the previous one.
const MOST_HISTORIES = 2;
const MOST_DECISIONS = 60;

const keyOf = (point) => `${point.at_s} ${point.operator}`;

function newestOf(points) {
  return [...new Map(points.map((point) => [point.operator, point])).values()];
}

export class RunModel {
  constructor(source, changed) {
    this.source = source;
    this.changed = changed;
    this.head = null;
    this.workflows = [];
    this.connection = "connecting";
    this.points = new Map();
    this.decisions = new Map();
    this.nodes = new Map();
    this.kept = new Set();
    this.loaded = new Set();
  }

  // At the start and after a gap the run and its histories are fetched again, so that no step is missing.
  takeRun(run) {
    this.head = run;
    this.workflows = run.workflows;
    const names = new Set(run.workflows.map((each) => each.name));
    for (const name of this.points.keys()) if (!names.has(name)) this.points.delete(name);
    for (const workflow of run.workflows) this.takePoints(workflow.name, workflow.points);
    this.nodes.clear();
    this.loaded.clear();
    this.changed();
  }

  // The head of the run. Before the run is known, it would look like a run without workflows.
  takeHead(head) {
    if (this.head === null) return;
    this.head = { ...this.head, ...head };
    this.changed();
  }

  takePoints(name, fresh) {
    const known = this.points.get(name) ?? [];
    const last_s = known.at(-1)?.at_s ?? -Infinity;
    let all = [...known, ...fresh];
    if (fresh.some((point) => point.at_s <= last_s)) {
      all = [...new Map(all.map((point) => [keyOf(point), point])).values()].sort((a, b) => a.at_s - b.at_s);
    }
    this.points.set(name, this.kept.has(name) ? all.slice(-this.source.mostPoints) : newestOf(all));
    const workflow = this.workflows.find((each) => each.name === name);
    if (workflow && fresh.length) workflow.last_step_s = Math.max(workflow.last_step_s, ...fresh.map((point) => point.at_s));
  }

  takeStep(name, points) {
    this.takePoints(name, points);
    this.nodes.delete(name);
    this.changed();
  }

  workflowNamed(name) {
    return this.workflows.find((each) => each.name === name) ?? this.workflows[0] ?? null;
  }

  // All points of a workflow, oldest first; fetched on first use. A workflow that was never opened has its newest ones.
  pointsOf(name) {
    this.kept.delete(name);
    this.kept.add(name);
    for (const other of [...this.kept].slice(0, -MOST_HISTORIES)) this.forget(other);
    if (!this.loaded.has(name)) {
      this.loaded.add(name);
      this.source.points(name).then((found) => {
        this.takePoints(name, found);
        this.changed();
      }, () => this.loaded.delete(name));
    }
    return this.points.get(name) ?? [];
  }

  forget(name) {
    this.kept.delete(name);
    this.loaded.delete(name);
    this.points.set(name, newestOf(this.points.get(name) ?? []));
  }

  instantsOf(name) {
    return [...new Set(this.pointsOf(name).map((point) => point.at_s))];
  }

  // The newest point of each operator of a workflow, without its history.
  latest(name) {
    return new Map((this.points.get(name) ?? []).map((point) => [point.operator, point]));
  }

  // The newest point of each operator at an instant; null: now.
  snapshot(name, at_s) {
    const found = new Map();
    for (const point of this.pointsOf(name)) {
      if (at_s === null || point.at_s <= at_s) found.set(point.operator, point);
    }
    return found;
  }

  // Downtime of each order, by its instant.
  costsOf(name, operator) {
    const found = new Map();
    for (const point of this.pointsOf(name)) {
      if (point.operator !== operator || !point.order) continue;
      const known = found.get(point.order.at_s) ?? {};
      found.set(point.order.at_s, {
        downtime_s: point.order.downtime_s ?? known.downtime_s ?? null,
        first_tasks_s: known.first_tasks_s ?? point.order.first_tasks_s ?? null,
      });
    }
    return found;
  }

  // Undefined while it is fetched, null if it is no longer kept.
  decision(name, operator, at_s) {
    const key = JSON.stringify([name, operator, at_s]);
    if (!this.decisions.has(key)) {
      this.decisions.set(key, undefined);
      while (this.decisions.size > MOST_DECISIONS) this.decisions.delete(this.decisions.keys().next().value);
      this.source.decision(name, operator, at_s).then((found) => {
        this.decisions.set(key, found);
        this.changed();
      }, () => this.decisions.delete(key));
    }
    return this.decisions.get(key);
  }

  nodesOf(name) {
    if (!this.nodes.has(name)) {
      this.nodes.set(name, this.lastNodes?.name === name ? this.lastNodes.found : undefined);
      this.source.nodes(name).then((found) => {
        this.lastNodes = { name, found };
        this.nodes.set(name, found);
        this.changed();
      }, () => this.nodes.delete(name));
    }
    return this.nodes.get(name);
  }
}
