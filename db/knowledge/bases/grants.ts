import { Persona } from '../../agents/personas/persona.entity.ts';
import type { RowScope } from '../../new-row-scope.ts';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { seen, visibleTo, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import { baseAccess, type BaseAccess } from './access.ts';
import type { Condition } from '../../condition.ts';

/** A grant as it is read. */
export type KnowledgeGrantRow = Awaited<ReturnType<typeof listGrantRows>>['items'][number];

function selectGrants() {
  return query
    .selectFrom('knowledge_grants as g')
    .select(['g.id', 'g.kbId', 'g.organizationId', 'g.workspaceId', 'g.principalKind', 'g.principalId', 'g.role', 'g.access'])
    .select(['g.expiresAt', 'g.createdByUserId', 'g.version', 'g.createdAt', 'g.updatedAt']);
}

const grantList = preparedList(
  ({ kbId }: ParametersOf<{ readonly kbId: string }>) => selectGrants().where('g.kbId', '=', kbId),
  [{ column: 'g.id', type: 'uuid', descending: true }],
);

/** Lists the grants of a base that the caller may see, newest first, expired ones included. */
export function listGrantRows(ctx: Pick<Scoped, 'em'>, kbId: string, page: PageRequest) {
  return grantList(ctx.em, { kbId }, page);
}

const oneGrant = prepared(
  ({
    grantId,
    visible,
    canManage,
    isAdmin,
  }: ParametersOf<Pick<BaseAccess, 'visible' | 'canManage' | 'isAdmin'> & { readonly grantId: string }>) =>
    selectGrants()
      .innerJoin('knowledge_bases as b', 'b.id', 'g.kbId')
      .where('g.id', '=', grantId)
      .where('b.deletedAt', 'is', null)
      .where(visible)
      .select((eb) => [eb.and([canManage]).$castTo<boolean>().as('canManage'), eb.and([isAdmin]).$castTo<boolean>().as('isAdmin')]),
);

/** Returns a grant whose base the caller sees, with the caller's rights on the base. Throws 404 for others, 403 where the caller's rank is below the floor. */
export async function readGrant(ctx: Scoped, grantId: string) {
  const { visible, canManage, isAdmin } = baseAccess(ctx, 'b');
  return seen(ctx, await row(ctx.em, oneGrant({ grantId, visible, canManage, isAdmin })));
}

type Place = Pick<RowScope, 'organizationId' | 'workspaceId'>;

const persona = prepared(({ personaId, visible }: ParametersOf<{ readonly personaId: string; readonly visible: Condition }>) =>
  query
    .selectFrom('personas as p')
    .innerJoin('agents as a', 'a.id', 'p.agentId')
    .where('p.id', '=', personaId)
    .where('p.deletedAt', 'is', null)
    .where('a.deletedAt', 'is', null)
    .where(visible)
    .select(['a.scope', 'a.organizationId', 'a.workspaceId']),
);

/** Whether the caller sees a persona whose agent lies in a row scope or a wider one. */
export async function hasPersona(ctx: Scoped, place: Place, personaId: string): Promise<boolean> {
  const found = await row(ctx.em, persona({ personaId, visible: visibleTo(ctx, Persona, 'p') }));
  if (!found) return false;
  if (found.scope === 'platform') return true;
  return found.organizationId === place.organizationId && (found.workspaceId === null || found.workspaceId === place.workspaceId);
}

/** Whether a workspace can use a base: it must be the base's own or, for a base of the organization, any workspace of it. */
export async function hasWorkspace(ctx: Pick<Scoped, 'em'>, place: Place, workspaceId: string): Promise<boolean> {
  if (place.workspaceId !== null) return place.workspaceId === workspaceId;
  if (place.organizationId === null) return false;
  const found = await row(
    ctx.em,
    query.selectFrom('workspaces').select('id').where('id', '=', workspaceId).where('organizationId', '=', place.organizationId),
  );
  return found !== null;
}
