// Why a node holds no replica of an operator at an instant.

import { figure, moment } from "./format.js";
import { explained, meaning } from "./words.js";
import { farthestPair } from "./distances.js";

// Reasons with which the present replicas carry the load.
const ENOUGH = ["WithinTarget", "FewerWouldNotSustain", "AtMinReplicas", "DrainingBacklog", "Underused"];

// Why a candidate was rejected, and by how much; if the policy gives no detail, NDmax with and without the node.
export function rejectionText(rejection, chosen, delayOf) {
  if (rejection.detail) return explained(rejection.reason, rejection.detail);
  const ndMax = (...more) => farthestPair([...new Set([...chosen, ...more])], delayOf)?.ms ?? null;
  const withIt = ndMax(rejection.node);
  return withIt === null ? meaning(rejection.reason) : `${meaning(rejection.reason)} With it NDmax is ${figure(withIt, "ms")}, without it ${figure(ndMax() ?? 0, "ms")}.`;
}

// The ineligible nodes of an operator at a decision, {reason, detail} by name. A decision lists the first of each reason; the
// complete list is known for the newest step only.
export function ineligibleNodes(decision, operator, newest) {
  const listed = (decision?.ineligible ?? []).map((each) => [each.node, each]);
  return { ...newest?.ineligible_for[operator.name], ...newest?.ineligible, ...Object.fromEntries(listed) };
}

// The last decision before an instant that compared nodes: undefined while it is fetched, null if there is none.
export function lastComparison(model, workflow, operator, before_s) {
  const found = model.pointsOf(workflow.name).findLast((point) => point.operator === operator.name && point.at_s < before_s && point.add.length);
  return found ? model.decision(workflow.name, operator.name, found.at_s) : null;
}

// Returns {word, text} from the decision of that instant, else from the state of the node, else from older decisions.
export function whyNot(node, operator, { now, decision, ineligible, earlier, delayOf }) {
  if (now.placement.includes(node)) {
    const fresh = now.add.includes(node);
    return { word: fresh ? "chosen" : "in use", text: fresh ? `This decision put a replica here: ${now.reason}.` : "A replica is here." };
  }
  if (now.remove.includes(node)) return { word: "removed", text: `This decision removed the replica from here: ${now.reason}. ${now.detail}` };
  const rejection = decision?.plan?.rejections?.find((each) => each.node === node || each.other_nodes?.includes(node));
  if (rejection) return { word: rejection.reason, text: rejection.node === node ? rejectionText(rejection, [operator.driver_node, ...now.placement], delayOf) : explained(rejection.reason, "") };
  if (ineligible[node]) return { word: ineligible[node].reason, text: explained(ineligible[node].reason, ineligible[node].detail) };
  const uncounted = (decision?.plan?.rejections ?? []).filter((each) => each.others && !each.other_nodes);
  if (uncounted.length) return { word: uncounted.length === 1 ? uncounted[0].reason : "rejected", text: `It is one of the rejected candidates that are only counted: ${uncounted.map((each) => `${each.others} ${each.reason}`).join(", ")}.` };
  const isEnough = ENOUGH.includes(now.reason);
  const word = isEnough ? "not needed" : "no change";
  const quiet = `No replica was added at ${moment(now.at_s)}: ${explained(now.reason, now.detail)}${now.detail ? "." : ""}`;
  const before = earlier?.plan?.rejections?.find((each) => each.node === node);
  if (before) return { word, text: `${quiet} When nodes were last compared, at ${moment(earlier.at_s)}: ${explained(before.reason, before.detail)}` };
  return { word, text: isEnough ? `${quiet} The replicas on ${now.placement.join(", ") || "no node"} were enough for this policy.` : quiet };
}
