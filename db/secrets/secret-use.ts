import { sql } from 'kysely';
import type { Scope } from '../../workflows/contracts/access.ts';
import { Condition } from '../condition.ts';
import { query } from '../query.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Secret } from './secret.entity.ts';

const maxNamed = 20;

/**
 * Returns the ids of at most 20 tools that name this secret and would find no value without it: they have no value of their own, and none is left in a scope
 * from which they may take one (never wider than their own). Only tools of the secret's own tenant count.
 */
export async function toolsInNeedOf(tx: TenantTransaction, secret: Secret): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('tools as t')
      .select('t.id')
      .where('t.deletedAt', 'is', null)
      .where(sql<boolean>`${secret.name} = any(t.secrets_required)`)
      .where(needing(secret))
      .where(({ exists, not, selectFrom }) =>
        not(
          exists(
            selectFrom('secrets as o').select(sql.lit(1).as('one')).whereRef('o.toolId', '=', 't.id').where('o.name', '=', secret.name),
          ),
        ),
      )
      .orderBy('t.id')
      .limit(maxNamed),
  );
  return found.map(({ id }) => id);
}

/** Tools `t` for which the secret is the only value in the scopes from which they take one. */
function needing({ scope, organizationId, workspaceId, name }: Secret): Condition {
  switch (scope) {
    case 'workspace':
      return new Condition(
        `t.organization_id = ?::uuid and (t.workspace_id = ?::uuid or (t.scope = 'organization' and not exists (
          select from secrets o where o.tool_id is null and o.scope = 'organization' and o.organization_id = t.organization_id and o.name = ?)))`,
        [organizationId, workspaceId, name],
      );
    case 'organization':
      return new Condition("t.organization_id = ?::uuid and t.scope = 'organization'", [organizationId]);
    case 'platform':
      return new Condition("t.scope = 'platform'");
    default:
      return scope satisfies never;
  }
}

/** Returns the current config of a tool's row, or null when it is deleted. */
export async function readToolConfig(tx: Pick<TenantTransaction, 'em'>, toolId: string): Promise<Record<string, unknown> | null> {
  const now = await row(tx.em, query.selectFrom('tools as t').select('t.config').where('t.id', '=', toolId));
  return now?.config ?? null;
}

/** Returns the row scopes in which one of the names has a value that a row of this home would use, for itself or for any workspace in which it works. */
export async function sharedPlacesOf(
  tx: TenantTransaction,
  rowScope: { readonly scope: Scope; readonly organizationId: string | null; readonly workspaceId: string | null },
  names: readonly string[],
) {
  const within = {
    workspace: "s.scope = 'workspace' and s.workspace_id = ?::uuid",
    organization: 's.organization_id = ?::uuid',
    platform: '?::uuid is null',
  }[rowScope.scope];
  return rows(
    tx.em,
    query
      .selectFrom('secrets as s')
      .select(['s.scope', 's.workspaceId'])
      .distinct()
      .where('s.toolId', 'is', null)
      .where('s.valueVersion', '>', 0)
      .where(sql<boolean>`s.name = any(${names}::text[])`)
      .where(new Condition(within, [rowScope.scope === 'workspace' ? rowScope.workspaceId : rowScope.organizationId])),
  );
}
