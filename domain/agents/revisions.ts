import { lockActivations } from '../../db/agents/effective/agent-graph.ts';
import type { Agent } from '../../db/agents/agent.entity.ts';
import type { RevisionDocument, RevisionDraft } from '../../db/agents/revisions/revision-document.ts';
import {
  findRevisionPair,
  readRevision,
  type AgentScope,
  type ComparedPair,
  type ComparedRevision,
} from '../../db/agents/revisions/revisions.ts';
import { insertRevisionRows, setActiveRevision, type NewRevision } from '../../db/agents/revisions/write-revisions.ts';
import type { Scoped } from '../../db/scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { refuseInvalid, refuseNotActivatable } from './revision-problems.ts';
import { validateRevision, type RevisionChecks } from './validate-revision.ts';

/** A revision as its author sends it. */
export interface AskedRevision {
  readonly draft: RevisionDraft;
  readonly note: string | null;
  /** Null: any. */
  readonly baseRevisionId: string | null;
}

/**
 * Adds the next revision to a locked agent without activating it. Returns its id. Throws 422 for a document that can't be stored, 409 `revision_base_stale`.
 */
export async function addRevision(
  tx: TenantTransaction,
  agent: Agent,
  { draft, note, baseRevisionId }: AskedRevision,
  checks: RevisionChecks,
): Promise<string> {
  const { document, problems } = await validateRevision(tx, { rowScope: agent, draft }, checks);
  refuseInvalid(problems, '/document');
  const { id } = await insertRevision(tx, { agent, document, note, baseRevisionId });
  return id;
}

/** Adds revision 1 to an agent that was just created; inactive unless requested otherwise. Throws 422, and 409 `revision_not_activatable`. */
export async function addFirstRevision(
  tx: TenantTransaction,
  agent: Agent,
  first: { readonly draft: RevisionDraft; readonly activate: boolean },
  checks: RevisionChecks,
): Promise<void> {
  const { document, problems } = await validateRevision(tx, { rowScope: agent, draft: first.draft }, checks);
  refuseInvalid(problems, '/revision');
  if (first.activate) refuseNotActivatable(problems);
  const { id } = await insertRevision(tx, { agent, document, note: null, baseRevisionId: null });
  if (first.activate) await setActiveRevision(tx, agent.id, id);
}

/** Activates a revision of its locked agent. Returns its id. Throws 404, 409 `revision_not_activatable`. */
export async function activateRevision(ctx: Scoped, agent: Agent, revisionId: string, checks: RevisionChecks): Promise<string> {
  await lockActivations(ctx, agent.organizationId);
  const revision = await readRevision(ctx, agent.id, revisionId);
  const { problems } = await validateRevision(ctx, { rowScope: agent, draft: revision.document }, checks);
  refuseNotActivatable(problems);
  await setActiveRevision(ctx, agent.id, revision.id);
  return revision.id;
}

/** Writes and activates the next revision of a locked agent from a document that is known to be valid. Returns its id. */
export async function publishRevision(
  tx: TenantTransaction,
  revision: { readonly agent: AgentScope; readonly document: RevisionDocument; readonly note: string },
): Promise<string> {
  const { id } = await insertRevision(tx, { ...revision, baseRevisionId: null });
  await setActiveRevision(tx, revision.agent.id, id);
  return id;
}

/** Writes the next revision and its references without activating it. The caller has locked the agent. Throws 409 `revision_base_stale`. */
export async function insertRevision(tx: TenantTransaction, revision: NewRevision): Promise<{ id: string; number: number }> {
  const inserted = await insertRevisionRows(tx, revision);
  if (!inserted)
    throw fail('state_conflict', {
      reason: 'revision_base_stale',
      detail: 'The agent has a newer revision than the one this revision is based on.',
    });
  return inserted;
}

/**
 * Reads two revisions of an agent that the caller sees, in one statement. `baseId` null means the active one; throws 409 `agent_inactive` when there is none.
 * Throws 404 for agent and target, 422 for a base that is not the agent's.
 */
export async function readRevisionPair(ctx: Scoped, asked: ComparedPair): Promise<{ base: ComparedRevision; target: ComparedRevision }> {
  const { base, target } = await findRevisionPair(ctx, asked);
  if (base === null && asked.baseId === null)
    throw fail('state_conflict', { reason: 'agent_inactive', detail: 'The agent has no active revision to compare with.' });
  if (base === null) {
    const message = 'The agent has no such revision.';
    throw fail('validation_failed', {
      detail: message,
      errors: [{ in: 'query', pointer: null, name: 'against', rule: 'reference', message }],
    });
  }
  return { base, target };
}
