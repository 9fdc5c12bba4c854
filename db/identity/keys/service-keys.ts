import type { Selectable } from 'kysely';
import type { Condition } from '../../condition.ts';
import type { Page, PageRequest } from '../../page.ts';
import { contains, preparedList } from '../../page-query.ts';
import type { ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleTo, type Scoped } from '../../scope.ts';
import type { Tables } from '../../table-types.ts';
import { ServiceKey } from './service-key.entity.ts';

const columns = [
  'id',
  'organizationId',
  'workspaceId',
  'scope',
  'name',
  'role',
  'scopes',
  'prefix',
  'last4',
  'createdByUserId',
  'createdAt',
  'updatedAt',
  'expiresAt',
  'lastUsedAt',
  'rotatedAt',
  'revokedAt',
] as const;

/** A service key as views show it: a row, or the entity. */
export type ShownServiceKey = Pick<Selectable<Tables['service_keys']> | ServiceKey, (typeof columns)[number]>;

export interface ServiceKeyFilters {
  readonly q?: string;
  readonly role?: ServiceKey['role'];
  readonly workspaceId?: string;
  readonly includesRevoked: boolean;
}

interface ListArguments extends Omit<ServiceKeyFilters, 'includesRevoked'> {
  readonly visible: Condition;
  readonly isLiveOnly: true | undefined;
}

const listed = preparedList(
  ({ visible, q, role, workspaceId, isLiveOnly }: ParametersOf<ListArguments>) => {
    let keys = query.selectFrom('service_keys as k').select(columns).where(visible);
    if (q) keys = keys.where(({ ref }) => contains(q, ref('k.name')));
    if (role) keys = keys.where('k.role', '=', role);
    if (workspaceId) keys = keys.where('k.workspaceId', '=', workspaceId);
    if (isLiveOnly) keys = keys.where('k.revokedAt', 'is', null);
    return keys;
  },
  [{ column: 'k.id', type: 'uuid', descending: true }],
);

/** Returns the keys that the caller sees where its rank reaches the floor, newest first. */
export async function listServiceKeys(
  ctx: Scoped,
  { filters: { q, role, workspaceId, includesRevoked }, page }: { filters: ServiceKeyFilters; page: PageRequest },
): Promise<Page<ShownServiceKey>> {
  return listed(
    ctx.em,
    { q, role, workspaceId, visible: visibleTo(ctx, ServiceKey, 'k'), isLiveOnly: !includesRevoked || undefined },
    page,
  );
}
