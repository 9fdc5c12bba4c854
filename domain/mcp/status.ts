import { readStatus, type McpStatusRow } from '../../db/mcp/status.ts';
import type { Scoped } from '../../db/scope.ts';
import { fail } from '../../workflows/contracts/failure.ts';

/** The status of a toolkit that the caller sees. Throws 404, and 409 `not_mcp` for another kind. One query. */
export async function readMcpStatus(ctx: Scoped, toolkitId: string): Promise<McpStatusRow> {
  const status = await readStatus(ctx, toolkitId);
  if (status.kind !== 'mcp') throw fail('state_conflict', { reason: 'not_mcp', detail: 'The toolkit is not of kind mcp.' });
  return status;
}
