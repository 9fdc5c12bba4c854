import { sql } from 'kysely';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { Condition } from '../../condition.ts';
import { assertScopeActive } from '../../frozen.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { refuseRank } from '../../caller-scope.ts';
import type { Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import { workspacesSeenBy } from '../../tenancy/workspaces/workspaces.ts';

/** The workspace of a budget. */
export interface BudgetScope {
  readonly organizationId: string;
  readonly workspaceId: string;
  /** The current day in the workspace's time zone, `2026-01-31`. */
  readonly today: string;
  /** Throws 423 while the workspace is archived or its organization frozen. */
  assertActive(): void;
}

const scopeRow = prepared(({ workspaceId, visible }: ParametersOf<{ workspaceId: string; visible: Condition }>) =>
  query
    .selectFrom('workspaces as w')
    .innerJoin('organizations as o', 'o.id', 'w.organizationId')
    .where('w.id', '=', workspaceId)
    .where(visible)
    .select(['w.id as workspaceId', 'w.organizationId', 'w.isActive', 'o.status'])
    .select(sql<string>`(clock_timestamp() at time zone w.timezone)::date::text`.as('today')),
);

/** Returns the workspace of a budget. Throws 404 for one that the caller does not see, 403 where the caller's role is below the floor. */
export async function findBudgetScope(ctx: Scoped, workspaceId: string): Promise<BudgetScope> {
  const found = await row(ctx.em, scopeRow({ workspaceId, visible: workspacesSeenBy(ctx.caller) }));
  if (!found) throw fail('not_found');
  refuseRank(ctx.caller, workspaceId, ctx.floor);
  return { ...found, assertActive: () => assertScopeActive(found.status, found.isActive) };
}
