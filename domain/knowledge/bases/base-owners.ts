import type { Caller } from '../../../db/caller.ts';
import { hasPersona } from '../../../db/knowledge/bases/grants.ts';
import type { KnowledgeSubjectKind } from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import type { RowScope } from '../../../db/new-row-scope.ts';
import type { Scoped } from '../../../db/scope.ts';
import { hasAgent, hasUser } from '../../../db/skills/owners.ts';
import { rankOf, type Role } from '../../../workflows/contracts/access.ts';
import { fail, invalid } from '../../../workflows/contracts/failure.ts';

/** Who owns a new base. */
export interface BaseOwners {
  readonly ownerAgentId: string | null;
  readonly ownerPersonaId: string | null;
  readonly subject: { readonly kind: KnowledgeSubjectKind; readonly id: string } | null;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns the id of a subject as rows hold it: a user's in lower case, however it was written, since rows compare it as text. */
export function subjectIdOf(kind: KnowledgeSubjectKind, id: string): string {
  return kind === 'user' ? id.toLowerCase() : id;
}

/**
 * Checks the owners of a new base in its row scope: an agent or persona must lie in the same or a wider scope; a guest subject is always accepted; a user
 * subject must be the caller or, for an admin, a user with access to the scope. Throws 422 `reference` for others, 403 for a user that only an admin may name.
 */
export async function refuseBaseOwners(
  ctx: Scoped,
  rowScope: RowScope,
  { ownerAgentId, ownerPersonaId, subject }: BaseOwners,
): Promise<void> {
  if (ownerAgentId !== null && !(await hasAgent(ctx, rowScope, ownerAgentId)))
    throw invalid('/owner_agent_id', 'reference', 'The agent does not exist in this scope or a wider one.', { kind: 'agent' });
  if (ownerPersonaId !== null && !(await hasPersona(ctx, rowScope, ownerPersonaId)))
    throw invalid('/owner_persona_id', 'reference', 'The persona does not exist in this scope or a wider one.', { kind: 'persona' });
  if (subject?.kind !== 'user') return;
  if (!uuid.test(subject.id) || !(await hasUser(ctx, rowScope, subject.id)))
    throw invalid('/subject_id', 'reference', 'The user does not exist in this scope.', { kind: 'user' });
  if (subject.id !== ctx.caller.userId && rankOf(roleAt(ctx.caller, rowScope)) < rankOf('admin'))
    throw fail('role_insufficient', { detail: 'Only an admin can create a base for another user.' });
}

function roleAt(caller: Caller, { workspaceId }: RowScope): Role {
  if (caller.workspaces === 'all' || workspaceId === null) return caller.role;
  return caller.workspaces.get(workspaceId) ?? 'viewer';
}
