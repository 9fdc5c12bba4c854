import { sql } from 'kysely';
import type { Scope } from '../../workflows/contracts/access.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** What names a secret: the row (a tool, a toolkit, a channel, a binding), and the workspace for which it works; null: the whole organization. */
export interface NamingRow {
  readonly scope: Scope;
  /** Set for a tool, which may have its own values. */
  readonly toolId: string | null;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

interface Wanted extends Omit<NamingRow, 'scope'> {
  readonly name: string;
  readonly scopes: readonly Scope[];
}

const nearest = prepared(({ name, toolId, organizationId, workspaceId, scopes }: ParametersOf<Wanted>) =>
  query
    .selectFrom('secrets as s')
    .select(['s.id', 's.organizationId', 's.workspaceId', 's.toolId', 's.name', 's.valueVersion', 's.valueEnvelope'])
    .where('s.name', '=', name)
    .where('s.valueVersion', '>', 0)
    .where(({ and, eb, or }) =>
      or([
        and([eb('s.toolId', '=', toolId), or([eb('s.organizationId', 'is', null), eb('s.organizationId', '=', organizationId)])]),
        and([
          eb('s.toolId', 'is', null),
          sql<boolean>`s.scope = any(${scopes}::text[])`,
          or([
            and([
              eb('s.scope', '=', sql.lit('workspace')),
              eb('s.workspaceId', '=', workspaceId),
              eb('s.organizationId', '=', organizationId),
            ]),
            and([eb('s.scope', '=', sql.lit('organization')), eb('s.organizationId', '=', organizationId)]),
            eb('s.scope', '=', sql.lit('platform')),
          ]),
        ]),
      ]),
    )
    .orderBy(({ eb }) => eb('s.toolId', 'is', null))
    .orderBy(sql`array_position(array['workspace', 'organization', 'platform'], s.scope)`)
    .limit(1),
);

/**
 * Returns the value of a name that is nearest to a row: the tool's own, otherwise that of the workspace, the organization or the platform, as far as `scopes`
 * allows.
 */
export async function findNearest(
  tx: TenantTransaction,
  { name, row: naming, scopes }: { readonly name: string; readonly row: NamingRow; readonly scopes: readonly Scope[] },
) {
  const { toolId, organizationId, workspaceId } = naming;
  return row(tx.em, nearest({ name, toolId, organizationId, workspaceId, scopes }));
}
