import canonicalize from 'canonicalize';
import type { ToolkitChange, ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import type { ToolInForce } from '../../db/toolkits/revisions.ts';

const comparedFields = ['title', 'description', 'input_schema', 'output_schema', 'annotations'] as const;

/** Returns how the tools of a revision differ from those of the active one, by name; both lists have at most 200 entries. */
export function diffTools(before: readonly ToolkitTool[], after: readonly ToolkitTool[]): ToolkitChange[] {
  const old = new Map(before.map((tool) => [tool.name, tool]));
  const fresh = new Map(after.map((tool) => [tool.name, tool]));
  const names = [...new Set([...old.keys(), ...fresh.keys()])].toSorted();
  return names.map((name) => changeOf(name, old.get(name), fresh.get(name)));
}

function changeOf(name: string, before: ToolkitTool | undefined, after: ToolkitTool | undefined): ToolkitChange {
  if (!before) return { name, change: 'added', fields: [] };
  if (!after) return { name, change: 'removed', fields: [] };
  if (before.hash === after.hash) return { name, change: 'unchanged', fields: [] };
  return { name, change: 'changed', fields: comparedFields.filter((field) => canonicalize(before[field]) !== canonicalize(after[field])) };
}

/** Whether activating these tools would change nothing: the same tools, all approved as they are and none quarantined. */
export function isInForce(tools: readonly ToolkitTool[], inForce: readonly ToolInForce[]): boolean {
  const hashes = new Map(tools.map((tool) => [tool.name, tool.hash]));
  return tools.length === inForce.length && inForce.every((tool) => !tool.isQuarantined && hashes.get(tool.name) === tool.hash);
}

/** Names of the tools in force that are changed in `tools`, or missing from it. */
export function differing(tools: readonly ToolkitTool[], inForce: readonly ToolInForce[]): string[] {
  const hashes = new Map(tools.map((tool) => [tool.name, tool.hash]));
  return inForce.filter((tool) => hashes.get(tool.name) !== tool.hash).map((tool) => tool.name);
}
