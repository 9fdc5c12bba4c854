import type { RowScope } from '../../db/new-row-scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { findAgentTarget } from '../../db/tools/agent-target.ts';
import type { AgentRefDraft, StoredAgentRef } from '../../db/tools/kind-config.ts';
import { fail, invalid, type Violation } from '../../workflows/contracts/failure.ts';

/** An agent, with the revision and persona that a config names. */
export interface NamedAgent {
  readonly agent: AgentRefDraft;
  readonly revision?: string | undefined;
  readonly personaSlug?: string | null | undefined;
}

/** Resolves the agent that a config of a tool in this row scope names at `pointer`. Throws 422 `required` and `reference`. */
export async function resolveNamedAgent(
  tx: Pick<TenantTransaction, 'em'>,
  rowScope: RowScope,
  { pointer, named }: { readonly pointer: string; readonly named: NamedAgent },
): Promise<StoredAgentRef> {
  const { agent } = named;
  if (agent.id === undefined && agent.slug === undefined) throw invalid(`${pointer}/agent`, 'required', 'id or slug is required');
  const revision = named.revision === undefined || named.revision === 'active' ? null : named.revision;
  const personaSlug = named.personaSlug ?? null;
  const found = await findAgentTarget(tx, rowScope, { agent, revision, personaSlug });
  const missing: Violation[] = [];
  if (!found) missing.push(reference(`${pointer}/agent`, 'agent', agent.slug ?? null));
  if (found && !found.hasRevision) missing.push(reference(`${pointer}/revision`, 'agent_revision', null));
  if (found && !found.hasPersona) missing.push(reference(`${pointer}/persona_slug`, 'persona', personaSlug));
  if (!found || missing.length > 0) throw fail('validation_failed', { detail: 'A reference does not resolve.', errors: missing });
  return { id: found.id, slug: found.slug, scope: found.scope };
}

const message =
  'does not refer to anything in the scope of this tool: a tool of the organization cannot use what belongs to a workspace (set workspace_id to create the tool in that workspace)';

function reference(pointer: string, kind: string, slug: string | null): Violation {
  return { in: 'body', pointer, name: null, rule: 'reference', message, params: { kind, slug } };
}
