import { sql } from 'kysely';
import type { ToolkitRevisionState } from '../../workflows/contracts/tools/toolkit-sync.ts';
import { query } from '../query.ts';
import { visibleToSql, seen, type Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { Toolkit } from '../toolkits/toolkit.entity.ts';

/** The state of an mcp toolkit according to its rows. */
export type McpStatusRow = Awaited<ReturnType<typeof readStatus>>;

interface LastSync {
  readonly revision_id: string;
  readonly number: number;
  readonly state: ToolkitRevisionState;
  readonly error: string | null;
  readonly created_at: string;
}

/** Returns the status of a toolkit of any kind that the caller sees. Throws 404. One query. */
export async function readStatus(ctx: Scoped, toolkitId: string) {
  const found = await row(
    ctx.em,
    query
      .selectFrom('toolkits as k')
      .select(['k.kind', 'k.workspaceId', 'k.reachable', 'k.checkedAt', 'k.server', 'k.protocolVersion'])
      .select(({ selectFrom }) => [
        selectFrom('toolkit_revisions as v')
          .select(
            sql<LastSync>`jsonb_build_object('revision_id', v.id, 'number', v.number, 'state', v.state, 'error', v.error, 'created_at', v.created_at)`.as(
              'sync',
            ),
          )
          .whereRef('v.toolkitId', '=', 'k.id')
          .where('v.origin', '=', 'sync')
          .orderBy('v.number', 'desc')
          .limit(1)
          .as('lastSync'),
        sql<string[]>`array(${selectFrom('tools as t')
          .select('t.remoteName')
          .whereRef('t.toolkitId', '=', 'k.id')
          .where('t.deletedAt', 'is', null)
          .where('t.quarantinedAt', 'is not', null)
          .orderBy('t.remoteName')
          .limit(400)})`.as('quarantined'),
      ])
      .where('k.id', '=', toolkitId)
      .where('k.deletedAt', 'is', null)
      .where(visibleToSql(ctx, Toolkit, 'k')),
  );
  return seen(ctx, found);
}
