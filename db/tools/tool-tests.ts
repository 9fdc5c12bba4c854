import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type NotNull, sql } from 'kysely';
import { jsonBuildObject } from 'kysely/helpers/postgres';
import { creatorOf } from '../actor-ref.ts';
import { newId } from '../ids.ts';
import type { RowWorkspace } from '../new-row-scope.ts';
import { query } from '../query.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ToolTestResult } from './tool-test.entity.ts';

/** A test with its current tool, locked until the end of the transaction. */
export type TestState = NonNullable<Awaited<ReturnType<typeof lockToolTest>>>;
export type TestedTool = NonNullable<TestState['tool']>;

export interface NewTest {
  readonly rowScope: RowWorkspace;
  readonly toolId: string;
  readonly args: Record<string, unknown>;
  readonly isDryRun: boolean;
}

/** Stores a test, which is retained for 24 hours. Returns its id. */
export async function insertToolTestRow(tx: TenantTransaction, { rowScope, toolId, args, isDryRun }: NewTest): Promise<string> {
  const id = newId();
  await change(
    tx.em,
    query.insertInto('tool_tests').values({
      id,
      toolId,
      organizationId: rowScope.organizationId,
      workspaceId: rowScope.workspaceId,
      arguments: args,
      dryRun: isDryRun,
      createdBy: creatorOf(tx.actor),
      expiresAt: sql<string>`now() + interval '24 hours'`,
      createdAt: sql<string>`now()`,
    }),
  );
  return id;
}

/** Locks a test; returns null when it is deleted. Its tool is null when that was deleted meanwhile. */
export async function lockToolTest(tx: TenantTransaction, testId: string) {
  return row(
    tx.em,
    query
      .selectFrom('tool_tests as s')
      .select(['s.id', 's.organizationId', 's.workspaceId', 's.arguments', 's.dryRun'])
      .select(({ eb }) => [eb('s.claimedAt', 'is not', null).as('isClaimed'), eb('s.result', 'is not', null).as('isSettled')])
      .select(({ selectFrom }) =>
        selectFrom('tools as t')
          .select(({ eb, ref }) =>
            jsonBuildObject({
              id: ref('t.id'),
              scope: ref('t.scope'),
              slug: ref('t.slug'),
              kind: ref('t.kind'),
              config: ref('t.config'),
              effect: ref('t.effect'),
              concurrency: ref('t.concurrency'),
              isIdempotent: sql<boolean>`(${ref('t.isIdempotent')} or coalesce(${ref('t.config')} ->> 'idempotency_header', '') <> '')`,
              isQuarantined: eb('t.quarantinedAt', 'is not', null),
              timeoutS: ref('t.timeoutS'),
              responseMaxChars: ref('t.responseMaxChars'),
            }).as('described'),
          )
          .whereRef('t.id', '=', 's.toolId')
          .where('t.deletedAt', 'is', null)
          .as('tool'),
      )
      .where('s.id', '=', testId)
      .forNoKeyUpdate('s')
      // A test always lies in a workspace.
      .$narrowType<{ organizationId: NotNull; workspaceId: NotNull }>(),
  );
}

/** Records, in a commit before the effect, that a test is being executed. */
export async function claimToolTestRow(tx: TenantTransaction, testId: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('tool_tests')
      .set({ claimedAt: sql<string>`clock_timestamp()` })
      .where('id', '=', testId),
  );
}

/** Stores the result once; a later one is dropped. */
export async function settleToolTestRow(tx: TenantTransaction, testId: string, result: ToolTestResult): Promise<void> {
  await change(tx.em, query.updateTable('tool_tests').set({ result }).where('id', '=', testId).where('result', 'is', null));
}

/** Deletes at most `limit` expired tests; returns how many. Sweeper's pool. */
export function deleteExpiredToolTests(em: SqlEntityManager, limit: number): Promise<number> {
  const expired = query
    .selectFrom('tool_tests as s')
    .select('s.id')
    .where('s.expiresAt', '<=', sql<string>`now()`)
    .limit(limit);
  return change(em, query.deleteFrom('tool_tests').where('id', 'in', expired));
}
