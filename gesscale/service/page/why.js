// Why a node holds no replica of an operator, at an instant.

import { figure, moment } from "./format.js";
import { explained, meaning } from "./words.js";
import { farthestPair } from "./distances.js";

// Why a candidate lost, and by how much. A policy may not say that: then at least how far the replicas would be apart.
export function lostBecause(rejection, chosen, delayOf) {
  if (rejection.detail) return explained(rejection.reason, rejection.detail);
  const ndMax = (...more) => farthestPair([...new Set([...chosen, ...more])], delayOf)?.ms ?? null;
  const withIt = ndMax(rejection.node);
  return withIt === null ? meaning(rejection.reason) : `${meaning(rejection.reason)} With it NDmax is ${figure(withIt, "ms")}, without it ${figure(ndMax() ?? 0, "ms")}.`;
}

// Returns {word, text}. What the decision of that instant says comes first, then what the node is, then older decisions.
export function whyNot(node, operator, { now, decision, nodes, earlier, delayOf }) {
  if (now.placement.includes(node)) {
    const fresh = now.add.includes(node);
    return { word: fresh ? "chosen" : "in use", text: fresh ? `This decision put a replica here: ${now.reason}.` : "A replica is here." };
  }
  if (now.remove.includes(node)) return { word: "given up", text: `This decision took the replica from here: ${now.reason}. ${now.detail}` };
  const said = decision?.plan?.rejections?.find((each) => each.node === node);
  if (said) return { word: said.reason, text: lostBecause(said, [operator.driver_node, ...now.placement], delayOf) };
  const unfit = nodes?.unfit?.[node] ?? nodes?.unfit_for?.[operator.name]?.[node];
  if (unfit) return { word: unfit.reason, text: explained(unfit.reason, unfit.detail) };
  const quiet = `No replica was to be added at ${moment(now.at_s)}: ${now.reason}. ${meaning(now.reason)}`;
  const before = earlier?.plan?.rejections?.find((each) => each.node === node);
  if (before) return { word: "not needed", text: `${quiet} When nodes were last compared, at ${moment(earlier.at_s)}: ${before.reason}, ${before.detail || meaning(before.reason)}` };
  return { word: "not needed", text: `${quiet} The replicas on ${now.placement.join(", ") || "no node"} were enough for this policy.` };
}
