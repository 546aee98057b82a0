// What states and reasons mean, and what to do about them.

export const STATES = {
  lagging: { sign: "▲", word: "lagging", means: "at least half of the recent batches were saturated" },
  busy: { sign: "◆", word: "busy", means: "at work for at least 70 % of the time" },
  waiting: { sign: "●", word: "waiting", means: "it keeps up, and waits for rows in between" },
  idle: { sign: "○", word: "idle", means: "no rows come" },
  unknown: { sign: "?", word: "unknown", means: "its driver tells nothing that can be used" },
};
export const WORST_FIRST = ["lagging", "unknown", "busy", "waiting", "idle"];

const REASONS = {
  Overloaded: "More rows come than the placement can carry.",
  Underused: "Fewer replicas carry the load.",
  BetterNodes: "Other nodes carry more, or the same at less distance.",
  IdleReplica: "Rows wait, and a replica gets none of them, so it is given up.",
  ReplicaLost: "A replica died; it is started again, elsewhere where none is left and its node cannot take it.",
  FirstPlacement: "The operator has just started; its first replicas are placed.",
  Overridden: "A person has fixed the replicas.",
  WithinTarget: "The present replicas are right.",
  CheaperToWait: "More rows come than the placement can carry; that rows wait costs less than more replicas.",
  NotRootOfOverload: "It is saturated because an operator after it is.",
  DrainingBacklog: "The backlog drains by itself in time.",
  FewerWouldNotSustain: "One replica less would not carry the load.",
  NeverChanges: "This policy never changes anything.",
  MetricsMissing: "Its driver told nothing.",
  MetricsStale: "What its driver told is too old to act on.",
  LatencyMapMissing: "There is no latency map yet, so no node can be chosen.",
  LatencyMapStale: "The latency map is too old to remove a replica by.",
  Reconfiguring: "The change before has not settled yet.",
  CoolingDown: "It changed not long ago; the cooldown is not over.",
  PolicyFailed: "The policy raised an error, so nothing was changed.",
  ModelUncalibrated: "The model knows too little of this operator yet.",
  Paused: "A person has paused it.",
  ChangeBudgetSpent: "As many operators as may change at once are changing; it waits for them.",
  AtMaxReplicas: "It needs more, but has as many replicas as it may have.",
  AtMinReplicas: "It needs fewer, but has as few replicas as it may have.",
  NoCandidateNode: "It needs more, but no node can take a replica.",
  DelayEatsGain: "It needs more, but on every free node the distance costs more than the replica brings.",
  ClusterUnavailable: "The cluster could not be read.",
  Farther: "Another node is nearer, or carries more.",
  NotReady: "The node is not ready.",
  Cordoned: "The node is cordoned: it takes no new pods.",
  NoRoom: "The node has no room for another executor.",
  Excluded: "The settings exclude this node.",
  WrongArchitecture: "The image does not run on this kind of processor.",
  NotInPool: "The node is not in the operator's node pool.",
  DelayUnknown: "The delay to this node is not known.",
  NotSelected: "The policy chose others.",
};

const ADVICE = {
  MetricsMissing: "Look whether the Spark driver runs, and whether metrics_url reaches the port given to gesscale.spark.attach.",
  MetricsStale: "Look whether the query still makes progress, and whether the clocks of both machines agree.",
  LatencyMapMissing: "Start the latency agents, or name a file: gesscale latency-map import.",
  LatencyMapStale: "Measure again: look whether the latency agents run on all nodes.",
  PolicyFailed: "Read the log of gesscale run. With a policy of your own: gesscale replay shows the error at your desk.",
  ClusterUnavailable: "Look whether the API server, or the cluster of the settings, can be reached from here.",
  IdleReplica: "Give the source at least as many partitions as max_replicas.",
  AtMaxReplicas: "Raise max_replicas, or make the operator cheaper.",
  NoCandidateNode: "See Nodes for what each node lacks; add a node, or widen the node pool.",
  DelayEatsGain: "Add a node nearby, or use one with more capacity.",
};

const OUTCOMES = {
  NothingToDo: "Nothing was to be done.",
  NotAllowed: "Advice only: the mode is not to act.",
  Rehearsed: "Checked by the cluster, not carried out.",
  Ordered: "Ordered; the driver carries it out.",
  Applied: "Carried out.",
  PartlyApplied: "Carried out in part.",
  Failed: "It failed.",
};

export function meaning(reason) {
  return REASONS[reason] ?? reason;
}

// What a reason means, and what the decision says of it in its own words.
export function explained(reason, detail) {
  return detail ? `${meaning(reason).replace(/\.$/, "")}: ${detail}` : meaning(reason);
}

export function advice(reason) {
  return ADVICE[reason] ?? "";
}

export function outcomeMeaning(status) {
  return OUTCOMES[status] ?? status;
}
