import type { Scope } from '../../workflows/contracts/access.ts';
import type { KeyRing } from '../identity/key-ring.ts';
import { change, row } from '../sql.ts';
import { open } from '../tenancy/envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { secretBinding, type SecretPlace } from './secret-binding.ts';

/** Who names a secret: the row (a tool, a toolkit, a channel, a binding), and the workspace for which it works; null: the whole organization. */
export interface NamingRow {
  readonly scope: Scope;
  /** Set when it is a tool, which may have values of its own. */
  readonly toolId: string | null;
  readonly organizationId: string;
  readonly workspaceId: string | null;
}

interface FoundSecret extends SecretPlace {
  readonly id: string;
  readonly value_envelope: Buffer;
}

/** Scopes from which a row of a scope takes values, nearest first: a row of a workspace can't carry an organization's value off. */
const reachedScopes: Readonly<Record<Scope, readonly Scope[]>> = {
  workspace: ['workspace'],
  organization: ['workspace', 'organization'],
  platform: ['workspace', 'organization', 'platform'],
};

/**
 * Opens the value of a name for a row that names it: the tool's own, else that of the workspace, the organization, the platform, never from
 * a scope wider than the row's. Null when there is none. For activities, in the transaction of the workspace's tenant; the value goes into
 * no row, log, history or frame.
 */
export async function resolveSecret(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'keks'>,
  { name, row: naming }: { readonly name: string; readonly row: NamingRow },
): Promise<string | null> {
  const found = await findNearest(tx, name, naming);
  if (!found) return null;

  const value = await open(tx.em, keys, secretBinding(found), found.value_envelope);
  await markUsed(tx, found.id);
  return value.toString();
}

async function findNearest(tx: TenantTransaction, name: string, naming: NamingRow): Promise<FoundSecret | null> {
  return row<FoundSecret>(
    tx.em,
    `select s.id, s.organization_id, s.workspace_id, s.tool_id, s.name, s.value_version, s.value_envelope from secrets s
     where s.name = ? and s.value_version > 0 and ((s.tool_id = ?::uuid and (s.organization_id is null or s.organization_id = ?::uuid)) or (s.tool_id is null and s.scope = any(?::text[]) and (
       (s.scope = 'workspace' and s.workspace_id = ?::uuid and s.organization_id = ?::uuid)
       or (s.scope = 'organization' and s.organization_id = ?::uuid)
       or s.scope = 'platform')))
     order by s.tool_id is null, array_position(array['workspace', 'organization', 'platform'], s.scope) limit 1`,
    [
      name,
      naming.toolId,
      naming.organizationId,
      reachedScopes[naming.scope],
      naming.workspaceId,
      naming.organizationId,
      naming.organizationId,
    ],
  );
}

/** At most once a minute, so that runs side by side don't wait for each other. A platform row can't be marked by a tenant and isn't. */
async function markUsed(tx: TenantTransaction, id: string): Promise<void> {
  await change(
    tx.em,
    "update secrets set last_used_at = now() where id = ? and (last_used_at is null or last_used_at < now() - interval '60 seconds')",
    [id],
  );
}
