import { sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { Persona } from './persona.entity.ts';

/** A persona as it is read. */
export type PersonaRow = Awaited<ReturnType<typeof readPersona>>;

interface OfAgent {
  readonly agentId: string;
  readonly visible: Condition;
}

function selectPersonas({ agentId, visible }: ParametersOf<OfAgent>) {
  return query
    .selectFrom('personas as p')
    .where('p.agentId', '=', agentId)
    .where('p.deletedAt', 'is', null)
    .where(visible)
    .select(['p.id', 'p.agentId', 'p.organizationId', 'p.workspaceId', 'p.slug', 'p.isDefault', 'p.isActive', 'p.version', 'p.document'])
    .select(['p.rowVersion', 'p.createdAt', 'p.updatedAt']);
}

const onePersona = prepared(({ personaId, ...of }: ParametersOf<OfAgent & { readonly personaId: string }>) =>
  selectPersonas(of).where('p.id', '=', personaId),
);

/** Returns a persona of an agent that the caller sees. Throws 404, also for a persona of another agent. */
export async function readPersona(ctx: Scoped, agentId: string, personaId: string) {
  return seen(ctx, await row(ctx.em, onePersona({ personaId, agentId, visible: visibleToSql(ctx, Persona, 'p') })));
}

const personaList = preparedList((of: ParametersOf<OfAgent>) => selectPersonas(of), [{ column: 'p.id', type: 'uuid', descending: true }]);

/** Lists the personas of an agent that the caller may see, newest first. */
export function listPersonaRows(ctx: Scoped, agentId: string, page: PageRequest) {
  return personaList(ctx.em, { agentId, visible: visibleTo(ctx, Persona, 'p') }, page);
}

const personaCount = prepared(({ agentId }: ParametersOf<{ readonly agentId: string }>) =>
  query
    .selectFrom('personas')
    .where('agentId', '=', agentId)
    .where('deletedAt', 'is', null)
    .select(sql<number>`count(*)::int`.as('n')),
);

/** Returns how many personas an agent has. */
export async function countPersonas(tx: Pick<TenantTransaction, 'em'>, agentId: string): Promise<number> {
  return (await row(tx.em, personaCount({ agentId })))?.n ?? 0;
}
