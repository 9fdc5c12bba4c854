import type { ToolInForce } from '../../db/toolkits/revisions.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';

/** Whether activating these tools would change nothing: the same ones, all approved as they are and none quarantined. */
export function isInForce(tools: readonly ToolkitTool[], inForce: readonly ToolInForce[]): boolean {
  const hashes = new Map(tools.map((tool) => [tool.name, tool.hash]));
  return tools.length === inForce.length && inForce.every((tool) => !tool.isQuarantined && hashes.get(tool.name) === tool.hash);
}

/** Names of the tools in force that are changed in `tools`, or gone. */
export function differing(tools: readonly ToolkitTool[], inForce: readonly ToolInForce[]): string[] {
  const hashes = new Map(tools.map((tool) => [tool.name, tool.hash]));
  return inForce.filter((tool) => hashes.get(tool.name) !== tool.hash).map((tool) => tool.name);
}
