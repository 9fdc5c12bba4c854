import { visibleToSql, seen, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import type { ToolkitRevisionState } from '../../workflows/contracts/tools/toolkits.ts';
import { Toolkit } from '../toolkits/toolkit.entity.ts';

/** The state of an mcp toolkit according to its rows. */
export interface McpStatusRow {
  readonly kind: 'mcp' | 'openapi' | 'manual';
  readonly workspace_id: string | null;
  readonly reachable: boolean | null;
  readonly checked_at: Date | string | null;
  readonly server: Record<string, unknown> | null;
  readonly protocol_version: string | null;
  readonly last_sync: {
    readonly revision_id: string;
    readonly number: number;
    readonly state: ToolkitRevisionState;
    readonly error: string | null;
    readonly created_at: string;
  } | null;
  readonly quarantined: readonly string[];
}

/** Returns the status of a toolkit of any kind that the caller sees. Throws 404. One query. */
export async function readStatus(ctx: Scoped, toolkitId: string): Promise<McpStatusRow> {
  const visible = visibleToSql(ctx, Toolkit, 'k');
  const found = await row<McpStatusRow>(
    ctx.em,
    `select k.kind, k.workspace_id, k.reachable, k.checked_at, k.server, k.protocol_version,
       (select jsonb_build_object('revision_id', v.id, 'number', v.number, 'state', v.state, 'error', v.error, 'created_at', v.created_at)
          from toolkit_revisions v where v.toolkit_id = k.id and v.origin = 'sync' order by v.number desc limit 1) as last_sync,
       array(select t.remote_name from tools t where t.toolkit_id = k.id and t.deleted_at is null and t.quarantined_at is not null
          order by t.remote_name limit 400) as quarantined
       from toolkits k where k.id = ? and k.deleted_at is null and ${visible.sql}`,
    [toolkitId, ...visible.params],
  );
  return seen(ctx, found);
}
