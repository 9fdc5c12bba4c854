import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql, type Expression } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { queueStatement, row } from '../../sql.ts';

// What a window has spent is the sum of the ledger's rows that were reserved in it. A transaction that opens or changes a window reads that sum, which it
// must not do while a row has been written whose cost is not yet in the windows. So each settling takes this lock shared, and a change of windows takes it
// exclusively. It is taken after runs, and before budgets and windows.
const keyOf = (workspaceId: Expression<string>) => sql`hashtextextended('ledger:' || ${workspaceId}::text, 0)`;

type OfWorkspace = ParametersOf<{ readonly workspaceId: string }>;

const sharing = prepared(({ workspaceId }: OfWorkspace) =>
  query.selectNoFrom(sql<unknown>`pg_advisory_xact_lock_shared(${keyOf(workspaceId)})`.as('lock')),
);

const locking = prepared(({ workspaceId }: OfWorkspace) =>
  query.selectNoFrom(sql<unknown>`pg_advisory_xact_lock(${keyOf(workspaceId)})`.as('lock')),
);

/** Keeps the windows of a workspace unchanged until this transaction ends. Call it before a ledger row is written; it goes with that statement. */
export async function shareLedger(em: SqlEntityManager, workspaceId: string): Promise<void> {
  await queueStatement(em, sharing({ workspaceId }));
}

/** Waits until no settling of the workspace is in progress, and blocks new ones until this transaction ends. */
export async function lockLedger(em: SqlEntityManager, workspaceId: string): Promise<void> {
  await row(em, locking({ workspaceId }));
}
