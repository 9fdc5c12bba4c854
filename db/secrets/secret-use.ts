import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Secret } from './secret.entity.ts';

const maxNamed = 20;

/**
 * Ids of at most 20 tools that name this secret and would find no value without it: they have none of their own, and none is left in a
 * place from which they may take one (never wider than their own scope). Counted are the tools of the secret's own tenant.
 */
export async function toolsInNeedOf(tx: TenantTransaction, secret: Secret): Promise<string[]> {
  const { sql, params } = needing(secret);
  const found = await rows<{ id: string }>(
    tx.em,
    `select t.id from tools t
     where t.deleted_at is null and ? = any(t.secrets_required) and ${sql}
       and not exists (select from secrets o where o.tool_id = t.id and o.name = ?)
     order by t.id limit ${maxNamed}`,
    [secret.name, ...params, secret.name],
  );
  return found.map(({ id }) => id);
}

function needing({ scope, organizationId, workspaceId, name }: Secret): { sql: string; params: unknown[] } {
  switch (scope) {
    case 'workspace':
      return {
        sql: `t.organization_id = ?::uuid and (t.workspace_id = ?::uuid or (t.scope = 'organization' and not exists (
          select from secrets o where o.tool_id is null and o.scope = 'organization' and o.organization_id = t.organization_id and o.name = ?)))`,
        params: [organizationId, workspaceId, name],
      };
    case 'organization':
      return { sql: "t.organization_id = ?::uuid and t.scope = 'organization'", params: [organizationId] };
    case 'platform':
      return { sql: "t.scope = 'platform'", params: [] };
    default:
      return scope satisfies never;
  }
}
