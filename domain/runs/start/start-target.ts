import { Failure, fail, invalid } from '../../../workflows/contracts/failure.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { readNamed, type NamedThings, type StartScope } from './starter.ts';
import type { StartRun } from '../../../db/runs/start/start-run.ts';
import { type StartTarget, type TargetRow, type FoundTarget, readTargets } from '../../../db/runs/start/start-target.ts';

/** Resolves workspace, agent and revision of a start. Throws 422 for references that do not resolve among what the starter may see. */
export async function resolveStart(tx: TenantTransaction, start: StartRun): Promise<StartTarget> {
  const [target] = await resolveStarts(tx, [start]);
  if (target === undefined) throw new Error('a start gave no target');
  if (target instanceof Failure) throw target;
  return target;
}

/**
 * Resolves the references of all starts together: in one statement, one more when live runs have to be counted, and two more when users and files are named. A
 * start with a reference that its starter can't see yields its Failure instead of a target.
 */
export async function resolveStarts(tx: TenantTransaction, starts: readonly StartRun[]): Promise<readonly (StartTarget | Failure)[]> {
  const found = await readTargets(tx, starts);
  const named = await readNamed(starts.map((start, n) => ({ start, place: startScopeOf(found.get(n)) })));
  return starts.map((start, n) => {
    try {
      return targetOf(start, found.get(n), named(n));
    } catch (error) {
      if (error instanceof Failure) return error;
      throw error;
    }
  });
}

function startScopeOf(found: TargetRow | undefined): StartScope | null {
  const { organizationId = null, workspaceId = null } = found ?? {};
  return organizationId === null || workspaceId === null ? null : { organizationId, workspaceId };
}

/** Returns what a start resolved to; throws for the first reference that did not resolve. */
function targetOf(start: StartRun, found: FoundTarget | undefined, named: NamedThings): StartTarget {
  if (!found || found.chosenId === null) throw workspaceRequired();
  const place = startScopeOf(found);
  if (place === null) throw invalid('/workspace_id', 'reference', 'The workspace does not exist.', { kind: 'workspace' });
  named.refusePlace();

  if (found.agentId === null || found.agentSlug === null) {
    const slug = 'slug' in start.agent ? start.agent.slug : null;
    throw invalid(slug === null ? '/agent_id' : '/agent_slug', 'reference', 'The agent does not exist in this workspace.', {
      kind: 'agent',
      slug,
    });
  }
  if (start.revisionId !== null && found.revisionId === null)
    throw invalid('/revision_id', 'reference', 'The agent has no such revision.', { kind: 'agent_revision' });
  if (start.personaSlug !== null && !found.hasPersona)
    throw invalid('/persona_slug', 'reference', 'The agent has no such persona.', { kind: 'persona', slug: start.personaSlug });
  if (found.revisionId === null || found.limits === null || found.variables === null) throw agentInactive();
  return {
    ...place,
    agentId: found.agentId,
    agentSlug: found.agentSlug,
    revisionId: found.revisionId,
    limits: found.limits,
    variables: found.variables,
    defaultPersonaSlug: found.defaultPersonaSlug,
    inactiveReason: found.frozenReason,
    isAgentActive: found.isAgentActive === true,
    liveRuns: found.liveRuns,
    model: found.model,
    spending: found.spending,
    attachments: named.attachments(),
  };
}

/** 409: the agent is switched off or has no published revision. */
export function agentInactive() {
  return fail('state_conflict', { reason: 'agent_inactive', detail: 'The agent is not active or has no active revision.' });
}

function workspaceRequired() {
  return fail('validation_failed', {
    reason: 'workspace_required',
    detail: 'Name the workspace of the run.',
    errors: [{ in: 'body', pointer: '/workspace_id', name: null, rule: 'required', message: 'Name the workspace of the run.' }],
  });
}
