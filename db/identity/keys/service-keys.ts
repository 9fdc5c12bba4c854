import type { Page, PageRequest } from '../../page.ts';
import { fetchPage, holdsText } from '../../page-query.ts';
import { visibleTo, type Scoped } from '../../scope.ts';
import { ServiceKey } from './service-key.entity.ts';

/** A service key as views show it; the entity fits it too. */
export interface ShownServiceKey {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly scope: ServiceKey['scope'];
  readonly name: string;
  readonly role: ServiceKey['role'];
  readonly scopes: readonly string[];
  readonly prefix: string;
  readonly last4: string;
  readonly createdByUserId: string;
  readonly createdAt: Date | string;
  readonly updatedAt: Date | string;
  readonly expiresAt: Date | string | null;
  readonly lastUsedAt: Date | string | null;
  readonly rotatedAt: Date | string | null;
  readonly revokedAt: Date | string | null;
}

export interface ServiceKeyFilters {
  readonly q?: string;
  readonly role?: ServiceKey['role'];
  readonly workspaceId?: string;
  readonly includesRevoked: boolean;
}

const columns = `k.id, k.organization_id as "organizationId", k.workspace_id as "workspaceId", k.scope, k.name, k.role, k.scopes, k.prefix, k.last4,
  k.created_by_user_id as "createdByUserId", k.created_at as "createdAt", k.updated_at as "updatedAt", k.expires_at as "expiresAt",
  k.last_used_at as "lastUsedAt", k.rotated_at as "rotatedAt", k.revoked_at as "revokedAt"`;

/** Returns the keys that the caller sees where its rank reaches the floor, newest first. */
export async function listServiceKeys(
  ctx: Scoped,
  { filters, page }: { filters: ServiceKeyFilters; page: PageRequest },
): Promise<Page<ShownServiceKey>> {
  const visible = visibleTo(ctx, ServiceKey, 'k');
  const where = [visible.sql];
  const params: unknown[] = [...visible.params];
  const filter = (sql: string, value: unknown): void => {
    where.push(sql);
    params.push(value);
  };

  if (filters.q !== undefined) filter(holdsText('k.name'), filters.q);
  if (filters.role !== undefined) filter('k.role = ?', filters.role);
  if (filters.workspaceId !== undefined) filter('k.workspace_id = ?::uuid', filters.workspaceId);
  if (!filters.includesRevoked) where.push('k.revoked_at is null');

  return fetchPage<ShownServiceKey>(ctx.em, {
    select: columns,
    from: 'service_keys k',
    where: where.join(' and '),
    params,
    order: [{ column: 'k.id', type: 'uuid', descending: true }],
    page,
  });
}
