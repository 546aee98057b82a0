// Why a node holds no replica of an operator, at an instant.

import { moment } from "./format.js";
import { explained, meaning } from "./words.js";

// Returns {word, text}. What the decision of that instant says comes first, then what the node is, then older decisions.
export function whyNot(node, operator, { now, decision, nodes, earlier }) {
  if (now.placement.includes(node)) {
    const fresh = now.add.includes(node);
    return { word: fresh ? "chosen" : "in use", text: fresh ? `This decision put a replica here: ${now.reason}.` : "A replica is here." };
  }
  if (now.remove.includes(node)) return { word: "given up", text: `This decision took the replica from here: ${now.reason}. ${now.detail}` };
  const said = decision?.plan?.rejections?.find((each) => each.node === node || each.other_nodes?.includes(node));
  if (said) return { word: said.reason, text: explained(said.reason, said.node === node ? said.detail : "") };
  const unfit = nodes?.unfit?.[node] ?? nodes?.unfit_for?.[operator.name]?.[node];
  if (unfit) return { word: unfit.reason, text: explained(unfit.reason, unfit.detail) };
  const uncounted = (decision?.plan?.rejections ?? []).filter((each) => each.others && !each.other_nodes);
  if (uncounted.length) return { word: uncounted.length === 1 ? uncounted[0].reason : "lost", text: `It is one of the candidates that lost and are only counted: ${uncounted.map((each) => `${each.others} ${each.reason}`).join(", ")}.` };
  const quiet = `No replica was to be added at ${moment(now.at_s)}: ${now.reason}. ${meaning(now.reason)}`;
  const before = earlier?.plan?.rejections?.find((each) => each.node === node);
  if (before) return { word: "not needed", text: `${quiet} When nodes were last compared, at ${moment(earlier.at_s)}: ${before.reason}, ${before.detail || meaning(before.reason)}` };
  return { word: "not needed", text: `${quiet} The replicas on ${now.placement.join(", ") || "no node"} were enough for this policy.` };
}
