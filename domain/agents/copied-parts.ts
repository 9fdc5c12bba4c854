import type { AgentRow } from '../../db/agents/agents.ts';
import { findCopiedParts, type CopiedParts } from '../../db/agents/revisions/copied-revision.ts';
import type { Scoped } from '../../db/scope.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';

/**
 * Reads the document of the requested revision, else of the active one, else of the newest, and the personas of an agent that the caller may see; in one
 * statement. A requested revision that is not the agent's is 404, or 422 at `pointer` when a body named it.
 */
export async function readCopiedParts(
  ctx: Pick<Scoped, 'em'>,
  agent: Pick<AgentRow, 'id' | 'activeRevisionId'>,
  asked: { readonly revisionId: string | null; readonly pointer: string | null },
): Promise<CopiedParts> {
  const parts = await findCopiedParts(ctx, agent, asked.revisionId);
  if (parts.document === null && asked.revisionId !== null) {
    if (asked.pointer === null) throw fail('not_found');
    throw invalid(asked.pointer, 'reference', 'The agent has no such revision.', { kind: 'agent_revision' });
  }
  return parts;
}
