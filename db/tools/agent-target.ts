import { sql } from 'kysely';
import type { RowScope } from '../new-row-scope.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { AgentRefDraft } from './kind-config.ts';

/** The references of a config to an agent, its revision and its persona. */
export interface NamedTarget {
  readonly agent: AgentRefDraft;
  /** A uuid. */
  readonly revision: string | null;
  readonly personaSlug: string | null;
}

/**
 * Returns the agent that a tool of this home names, by id, or by slug from near to far, in the tool's own scope or a wider one; null when there is none. Also
 * returns whether the named revision and persona exist and belong to this agent.
 */
export async function findAgentTarget(
  tx: Pick<TenantTransaction, 'em'>,
  rowScope: RowScope,
  { agent, revision, personaSlug }: NamedTarget,
) {
  const { id, slug, scope } = agent;
  let named = query
    .selectFrom('agents as a')
    .select(['a.id', 'a.slug', 'a.scope'])
    .select(({ exists, lit, selectFrom }) => [
      (revision === null
        ? lit(true)
        : exists(selectFrom('agent_revisions as v').select('v.id').where('v.id', '=', revision).whereRef('v.agentId', '=', 'a.id'))
      ).as('hasRevision'),
      (personaSlug === null
        ? lit(true)
        : exists(selectFrom('personas as p').select('p.id').where('p.slug', '=', personaSlug).whereRef('p.agentId', '=', 'a.id'))
      ).as('hasPersona'),
    ])
    .where('a.deletedAt', 'is', null)
    .where(({ and, eb, or }) =>
      or([
        and([eb('a.scope', '=', 'platform'), eb('a.isActive', '=', true)]),
        and([
          eb('a.organizationId', '=', rowScope.organizationId),
          or([eb('a.workspaceId', 'is', null), eb('a.workspaceId', '=', rowScope.workspaceId)]),
        ]),
      ]),
    )
    .orderBy(({ ref }) => sql`array_position(array['workspace', 'organization', 'platform'], ${ref('a.scope')}::text)`)
    .limit(1);
  if (id !== undefined) named = named.where('a.id', '=', id);
  else if (slug !== undefined) named = named.where('a.slug', '=', slug);
  if (scope) named = named.where('a.scope', '=', scope);
  return row(tx.em, named);
}
