import { newId } from '../../db/ids.ts';
import type { Databases } from '../../db/databases.ts';
import { openTransaction, emptyOutgoing, sweep, systemActor, tenantOf } from '../../db/transaction.ts';
import type { Changing } from '../../db/scope.ts';
import type { Caller } from '../../db/caller.ts';
import { Organization } from '../../db/tenancy/organizations/organization.entity.ts';
import { Workspace } from '../../db/tenancy/workspaces/workspace.entity.ts';
import { Agent } from '../../db/agents/agent.entity.ts';

/** An organization with workspaces and, in the first one, an agent. */
export interface World {
  readonly organizationId: string;
  readonly workspaceIds: readonly string[];
  readonly agentId: string;
  readonly organizationAgentId: string;
}

export async function makeWorld(db: Databases, workspaces = 1): Promise<World> {
  const organizationId = newId();
  const workspaceIds = Array.from({ length: workspaces }, () => newId());
  const [first = newId()] = workspaceIds;
  const agentId = newId();
  const organizationAgentId = newId();

  await sweep(db, async (em) => {
    em.create(Organization, { id: organizationId, name: 'Acme', slug: organizationId });
    for (const id of workspaceIds) em.create(Workspace, { id, organizationId, name: 'Main', slug: id });
    em.create(Agent, { id: agentId, scope: 'workspace', organizationId, workspaceId: first, slug: 'helper', name: 'Helper' });
    em.create(Agent, { id: organizationAgentId, scope: 'organization', organizationId, slug: 'shared', name: 'Shared' });
  });
  return { organizationId, workspaceIds, agentId, organizationAgentId };
}

/** A platform agent, seen by everybody. */
export async function makePlatformAgent(db: Databases, isActive = true): Promise<string> {
  const id = newId();
  await sweep(db, async (em) => {
    em.create(Agent, { id, scope: 'platform', slug: id, name: 'Common', isActive });
  });
  return id;
}

/** Runs `work` as a handler would, and rolls back. */
export async function asHandler<R>(
  db: Databases,
  caller: Caller,
  work: (ctx: Changing) => Promise<R>,
  options: Partial<Changing> = {},
): Promise<R> {
  const open = await openTransaction(db, { tenant: tenantOf(caller), actor: systemActor, correlationId: newId() });
  try {
    return await work({
      ...open.tx,
      caller,
      floor: 'member',
      ifMatch: null,
      isIfMatchRequired: false,
      outgoing: emptyOutgoing(),
      ...options,
    });
  } finally {
    await open.rollback();
  }
}
