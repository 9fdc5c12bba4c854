import type { Scope } from '../../workflows/contracts/access.ts';
import { row } from '../sql.ts';
import type { McpToolkitConfig } from '../toolkits/toolkit-config.ts';
import type { ToolkitTool } from '../toolkits/toolkit-tool.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A toolkit of kind mcp as its server is called. */
export interface McpToolkit {
  readonly id: string;
  readonly scope: Scope;
  readonly organizationId: string | null;
  readonly workspaceId: string | null;
  readonly slug: string;
  readonly config: McpToolkitConfig;
  readonly isActive: boolean;
}

interface ToolkitColumns {
  readonly id: string;
  readonly scope: Scope;
  readonly organization_id: string | null;
  readonly workspace_id: string | null;
  readonly slug: string;
  readonly config: McpToolkitConfig;
  readonly is_active: boolean;
}

const columns = 'k.id, k.scope, k.organization_id, k.workspace_id, k.slug, k.config, k.is_active';

/** A live mcp toolkit that the transaction sees; null when there is none. */
export async function readMcpToolkit(tx: TenantTransaction, id: string): Promise<McpToolkit | null> {
  const found = await row<ToolkitColumns>(
    tx.em,
    `select ${columns} from toolkits k where k.id = ? and k.kind = 'mcp' and k.deleted_at is null`,
    [id],
  );
  return found && toToolkit(found);
}

/** The toolkit of a remote tool, with the descriptor that was approved; null when either is gone. */
export async function readRemoteTool(
  tx: TenantTransaction,
  { toolkitId, remoteName }: { readonly toolkitId: string; readonly remoteName: string },
): Promise<{ readonly toolkit: McpToolkit; readonly tool: ToolkitTool | null } | null> {
  const found = await row<ToolkitColumns & { readonly tool: ToolkitTool | null }>(
    tx.em,
    `select ${columns}, (select tool from toolkit_revisions v cross join lateral jsonb_array_elements(v.tools) tool
        where v.id = k.active_revision_id and tool ->> 'name' = ?) as tool
       from toolkits k where k.id = ? and k.kind = 'mcp' and k.deleted_at is null`,
    [remoteName, toolkitId],
  );
  return found && { toolkit: toToolkit(found), tool: found.tool };
}

/**
 * Whether the toolkit still goes where, and as whom, it did when it was read: else what was asked for is another server's, and no token of it
 * is kept or sent. False for one that was deleted.
 */
export async function isStillThere(tx: TenantTransaction, { id, config }: Pick<McpToolkit, 'id' | 'config'>): Promise<boolean> {
  const found = await row(
    tx.em,
    `select 1 as is_there from toolkits k where k.id = ? and k.deleted_at is null and k.config ->> 'url' = ? and k.config -> 'auth' = ?::jsonb`,
    [id, config.url, JSON.stringify(config.auth)],
  );
  return found !== null;
}

/** The same, and so to the end of the transaction. */
export async function holdThere(tx: TenantTransaction, toolkit: Pick<McpToolkit, 'id' | 'config'>): Promise<boolean> {
  await row(tx.em, 'select k.id from toolkits k where k.id = ? for update', [toolkit.id]);
  return isStillThere(tx, toolkit);
}

function toToolkit(found: ToolkitColumns): McpToolkit {
  return {
    id: found.id,
    scope: found.scope,
    organizationId: found.organization_id,
    workspaceId: found.workspace_id,
    slug: found.slug,
    config: found.config,
    isActive: found.is_active,
  };
}
