import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Secret } from './secret.entity.ts';
import type { Scope } from '../../workflows/contracts/access.ts';

const maxNamed = 20;

/**
 * Returns the ids of at most 20 tools that name this secret and would find no value without it: they have no value of their own, and none is left in a scope
 * from which they may take one (never wider than their own). Only tools of the secret's own tenant count.
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

/** Returns the current config of a tool's row, or null when it is deleted. */
export async function readToolConfig(tx: Pick<TenantTransaction, 'em'>, toolId: string): Promise<Record<string, unknown> | null> {
  const [now] = await rows<{ config: Record<string, unknown> }>(tx.em, 'select t.config from tools t where t.id = ?', [toolId]);
  return now?.config ?? null;
}

/** The row scope of a secret that several tools may use. */
export interface SharedPlace {
  readonly scope: Scope;
  readonly workspace_id: string | null;
}

/** Returns the row scopes in which one of the names has a value that a row of this home would use, for itself or for any workspace in which it works. */
export async function sharedPlacesOf(
  tx: TenantTransaction,
  home: { readonly scope: Scope; readonly organizationId: string | null; readonly workspaceId: string | null },
  names: readonly string[],
): Promise<SharedPlace[]> {
  const within = {
    workspace: "s.scope = 'workspace' and s.workspace_id = ?::uuid",
    organization: 's.organization_id = ?::uuid',
    platform: '?::uuid is null',
  }[home.scope];
  return rows<SharedPlace>(
    tx.em,
    `select distinct s.scope, s.workspace_id from secrets s where s.tool_id is null and s.value_version > 0 and s.name = any(?::text[]) and ${within}`,
    [[...names], home.scope === 'workspace' ? home.workspaceId : home.organizationId],
  );
}
