import type { Scope } from '../../workflows/contracts/access.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { SecretScope } from './secret-binding.ts';

/** What names a secret: the row (a tool, a toolkit, a channel, a binding), and the workspace for which it works; null: the whole organization. */
export interface NamingRow {
  readonly scope: Scope;
  /** Set for a tool, which may have its own values. */
  readonly toolId: string | null;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

interface FoundSecret extends SecretScope {
  readonly id: string;
  readonly value_envelope: Buffer;
}

/**
 * Returns the value of a name that is nearest to a row: the tool's own, otherwise that of the workspace, the organization or the platform, as far as `scopes`
 * allows.
 */
export async function findNearest(
  tx: TenantTransaction,
  { name, row: naming, scopes }: { readonly name: string; readonly row: NamingRow; readonly scopes: readonly Scope[] },
): Promise<FoundSecret | null> {
  return row<FoundSecret>(
    tx.em,
    `select s.id, s.organization_id, s.workspace_id, s.tool_id, s.name, s.value_version, s.value_envelope from secrets s
     where s.name = ? and s.value_version > 0 and ((s.tool_id = ?::uuid and (s.organization_id is null or s.organization_id = ?::uuid)) or (s.tool_id is null and s.scope = any(?::text[]) and (
       (s.scope = 'workspace' and s.workspace_id = ?::uuid and s.organization_id = ?::uuid)
       or (s.scope = 'organization' and s.organization_id = ?::uuid)
       or s.scope = 'platform')))
     order by s.tool_id is null, array_position(array['workspace', 'organization', 'platform'], s.scope) limit 1`,
    [name, naming.toolId, naming.organizationId, scopes, naming.workspaceId, naming.organizationId, naming.organizationId],
  );
}
