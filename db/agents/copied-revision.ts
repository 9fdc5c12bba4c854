import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { AgentRow } from './agents.ts';
import type { RevisionDocument } from './revision-document.ts';
import { upgradeDocument } from './upgrade-document.ts';

/**
 * The document of an agent that is copied or exported: of the revision asked for, else the active one, else the newest; null when the agent,
 * which the caller has been shown, has none. One asked for that is not the agent's is 404, or 422 at `pointer` where a body named it.
 */
export async function readRevisionToCopy(
  ctx: Pick<Scoped, 'em'>,
  agent: Pick<AgentRow, 'id' | 'active_revision_id'>,
  asked: { readonly revisionId: string | null; readonly pointer: string | null },
): Promise<RevisionDocument | null> {
  const found = await row<{ document: RevisionDocument }>(
    ctx.em,
    'select v.document from agent_revisions v where v.agent_id = ? and (?::uuid is null or v.id = ?::uuid) order by v.number desc limit 1',
    [agent.id, asked.revisionId ?? agent.active_revision_id, asked.revisionId ?? agent.active_revision_id],
  );
  if (!found && asked.revisionId !== null) {
    if (asked.pointer === null) throw fail('not_found');
    throw invalid(asked.pointer, 'reference', 'The agent has no such revision.', { kind: 'agent_revision' });
  }
  return found ? upgradeDocument(found.document) : null;
}
