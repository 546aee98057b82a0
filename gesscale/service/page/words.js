// Meanings of states and reasons, and what to do about them.

export const STATES = {
  lagging: { sign: "▲", word: "lagging", means: "at least half of the recent batches were saturated" },
  busy: { sign: "◆", word: "busy", means: "batches take at least 70 % of the time" },
  steady: { sign: "●", word: "steady", means: "it keeps up with the load and has time left" },
  idle: { sign: "○", word: "idle", means: "no rows arrive" },
  unknown: { sign: "?", word: "unknown", means: "its driver returned no usable metrics" },
};
export const WORST_FIRST = ["lagging", "unknown", "busy", "steady", "idle"];

const REASONS = {
  Overloaded: "The load exceeds the capacity of the placement.",
  Underused: "Fewer replicas carry the load, by the low end of their capacity too.",
  BetterNodes: "Other nodes have more capacity, or the same at shorter distance.",
  IdleReplica: "Some replicas get no work, so they are removed.",
  ReplicaLost: "A replica was lost and is started again, on another node if its own cannot take it.",
  FirstPlacement: "The operator has just started; its first replicas are placed.",
  Overridden: "A manual override fixes the replicas.",
  WithinTarget: "The present replicas are right.",
  CheaperToWait: "The load exceeds the capacity, but rows stay within the objective for now; more replicas come in time.",
  NotRootOfOverload: "It is saturated because a downstream operator is.",
  DrainingBacklog: "The backlog drains in time without a change.",
  FewerWouldNotSustain: "One replica less might not carry the load.",
  NeverChanges: "This policy never changes anything.",
  MetricsMissing: "Its driver returned no metrics.",
  MetricsStale: "Its metrics are too old to act on.",
  LatencyMapMissing: "There is no latency map yet, so no node can be chosen.",
  LatencyMapStale: "The latency map is too old to remove a replica.",
  Reconfiguring: "The previous change has not settled yet.",
  CoolingDown: "It changed recently; the cooldown is not over.",
  PolicyFailed: "The policy raised an error, so nothing was changed.",
  ModelUncalibrated: "The model has no evidence of this operator yet, or too little.",
  Paused: "It is paused.",
  ChangeBudgetSpent: "The maximum number of operators are changing; this one waits for them.",
  AtMaxReplicas: "It needs more replicas, but has the maximum.",
  AtMinReplicas: "It needs fewer replicas, but has the minimum.",
  NoCandidateNode: "It needs more replicas, but no node can take one.",
  DelayEatsGain: "More replicas would process less: the delay to the other nodes costs more than a replica gains.",
  SinkLimit: "More replicas brought nothing: the sink, or what all replicas share, is the limit.",
  HotPartition: "More replicas brought nothing: one has most of the rows.",
  PartitionLimit: "More replicas would get no work: the source has too few partitions, or a batch too few tasks.",
  IdleLimit: "Replicas beyond these got no task within the last hour.",
  CapLimits: "The cap on the rows of a batch limits the rate, with any number of replicas.",
  ClusterUnavailable: "The cluster could not be read.",
  Farther: "Another node is nearer, or has more capacity.",
  NotReady: "The node is not ready.",
  Cordoned: "The node is cordoned: it takes no new pods.",
  NoRoom: "The node has no room for another executor.",
  Excluded: "The settings exclude this node.",
  WrongArchitecture: "The image does not run on this processor architecture.",
  NotInPool: "The node is not in the operator's node pool.",
  PodRefused: "The API server refuses further executors, for example because of a ResourceQuota.",
  DelayUnknown: "The delay to this node is unknown.",
  NotSelected: "The policy chose other nodes.",
};

const ADVICE = {
  MetricsMissing: "Check that the Spark driver runs, and that metrics_url reaches the port given to gesscale.spark.attach.",
  MetricsStale: "Check that the query makes progress, and that the clocks of both machines agree.",
  LatencyMapMissing: "Start the latency agents, or import a file: gesscale latency-map import.",
  LatencyMapStale: "Measure again: check that the latency agents run on all nodes.",
  PolicyFailed: "Read the log of gesscale run. With a custom policy, gesscale replay reproduces the error.",
  ClusterUnavailable: "Check that the API server, or the cluster of the settings, is reachable from here.",
  IdleReplica: "Give the source at least as many partitions as max_replicas.",
  AtMaxReplicas: "Raise max_replicas, or make the operator cheaper.",
  NoCandidateNode: "See Nodes for why each node is ineligible; add a node, or widen the node pool.",
  DelayEatsGain: "Add a node nearby, or use one with more capacity.",
  SinkLimit: "Make the sink faster. One more replica is tried each hour.",
  HotPartition: "Spread the rows over more partitions, or over more keys.",
  PartitionLimit: "Give the source more partitions.",
  IdleLimit: "Give the source more partitions, or spread the keys; the decision has the time of the next trial.",
  CapLimits: "Raise the query's cap, such as maxOffsetsPerTrigger, or shorten its trigger interval.",
};

const OUTCOMES = {
  NothingToDo: "No change.",
  NotAllowed: "Advice only: the mode is not act.",
  Rehearsed: "Checked by the cluster, not applied.",
  Ordered: "Ordered; the driver applies it.",
  Applied: "Applied.",
  PartlyApplied: "Partly applied.",
  Failed: "Failed.",
};

export function meaning(reason) {
  return REASONS[reason] ?? reason;
}

// The meaning of a reason, and the detail of the decision.
export function explained(reason, detail) {
  return detail ? `${meaning(reason).replace(/\.$/, "")}: ${detail}` : meaning(reason);
}

export function advice(reason) {
  return ADVICE[reason] ?? "";
}

export function outcomeMeaning(status) {
  return OUTCOMES[status] ?? status;
}
