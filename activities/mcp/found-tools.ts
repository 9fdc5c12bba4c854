import { toolHash } from '../../domain/toolkits/hashes.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import type { FoundTool } from '../../ports/mcp/found-tools.ts';

/** A tool of a server as a revision keeps it: with the hash that an approval is about, and what its annotations propose. */
export function toToolkitTool(found: FoundTool): ToolkitTool {
  const { readOnlyHint, idempotentHint } = found.annotations;
  const effect = readOnlyHint === true ? 'read' : 'write';
  return { ...found, hash: toolHash(found), proposed: { effect, concurrency: effect, idempotent: idempotentHint === true } };
}
