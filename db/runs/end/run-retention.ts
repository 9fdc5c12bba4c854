import { sql, type SqlBool } from 'kysely';
import type { Logger } from 'pino';
import { Failure } from '../../../workflows/contracts/failure.ts';
import { writeAudit } from '../../audit/audit.ts';
import type { Databases } from '../../databases.ts';
import { forgetReplies } from '../../http/idempotency.ts';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { Outgoing, TenantTransaction } from '../../tenant-transaction.ts';
import { organizationTenant, sweep, systemActor, transact } from '../../transaction.ts';
import { lockConversationsOfRuns } from '../start/conversations.ts';
import { settleLostCallsOf } from '../steps/lost-calls.ts';
import { lockEndedTrees, purgeRun } from './purge-run.ts';

/** A transaction erases at most so many trees of runs: their conversations wait for it. */
const rootsATransaction = 20;

export interface RetentionOptions {
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Sends what a transaction lets out: what Redis still holds of the runs. Left out where there is no way to it; it keeps nothing for longer than an hour. */
  readonly send?: (outgoing: Outgoing) => Promise<void>;
}

/**
 * Erases runs that ended before the `run_retention_days` of their organization, with those of their sub-agents, as `DELETE /runs/{id}` does: what they cost
 * stays in the ledger, and so does what a lost worker has not settled. Passed over is a run below which one lives or of which a call still holds a part of a budget. Each transaction takes some and writes
 * one `purge` entry with their number, so that whoever is killed anywhere goes on at the next time. An organization whose runs can't be erased keeps no other
 * from it; its error is thrown at the end. Gives how many runs.
 */
export async function eraseOldRuns(db: Databases, options: RetentionOptions): Promise<number> {
  const organizations = await sweep(db, (em) =>
    rows(em, query.selectFrom('organization_settings').select('organizationId').where('runRetentionDays', 'is not', null)),
  );
  const faults: unknown[] = [];
  let total = 0;
  for (const { organizationId } of organizations) {
    try {
      total += await eraseOfOrganization(db, organizationId, options);
    } catch (err) {
      options.signal.throwIfAborted();
      options.log.error({ err, organization_id: organizationId }, 'runs past their days not erased');
      faults.push(err);
    }
  }
  if (faults.length > 0) throw faults[0];
  return total;
}

/** The last root that was looked at. */
interface Position {
  readonly finishedAt: string;
  readonly id: string;
}

async function eraseOfOrganization(db: Databases, organizationId: string, { signal, send }: RetentionOptions): Promise<number> {
  const tenant = organizationTenant(organizationId);
  const eraseNext = async (after: Position | null): Promise<Erased> => {
    const options = { tenant, actor: systemActor, correlationId: newId() };
    const { value, outgoing } = await transact(db, options, (tx) => eraseSome(tx, organizationId, after));
    await send?.(outgoing);
    return value;
  };

  let total = 0;
  for (let done = await eraseNext(null); done.last !== null; done = await eraseNext(done.last)) {
    total += done.erased;
    signal.throwIfAborted();
  }
  return total;
}

interface Erased {
  readonly erased: number;
  /** Null: there is nothing behind. */
  readonly last: Position | null;
}

async function eraseSome(tx: TenantTransaction, organizationId: string, after: Position | null): Promise<Erased> {
  const due = await rows(tx.em, rootsPastRetention(organizationId, after));
  if (due.length === 0) return { erased: 0, last: null };
  const roots = due.map(({ id }) => id);
  // All at once and in the order of everybody: two that lock several would deadlock else. Calls of lost workers are settled before the first run goes: from
  // then on windows and rollups are held, and no run is waited for.
  await lockConversationsOfRuns(tx, roots);
  await settleLostCallsOf(tx, await lockEndedTrees(tx, roots));
  let erased = 0;
  for (const { id } of due) erased += await purgeUnlessBusy(tx, id);

  if (erased > 0) {
    await forgetReplies(tx, tx.outgoing.erasedRunIds);
    const note = { resourceType: 'run', resourceId: null, organizationId, changes: { purged_runs: { to: erased } } };
    await writeAudit(tx, { action: 'purge', operationId: null, note, ip: null, userAgent: null });
  }
  return { erased, last: due.at(-1) ?? null };
}

/** What is refused here was erased or began to live again after it was found. */
async function purgeUnlessBusy(tx: TenantTransaction, runId: string): Promise<number> {
  try {
    return await purgeRun(tx, runId);
  } catch (error) {
    if (error instanceof Failure && (error.code === 'not_found' || error.code === 'state_conflict')) return 0;
    throw error;
  }
}

function rootsPastRetention(organizationId: string, after: Position | null) {
  const due = query
    .selectFrom('runs as r')
    .innerJoin('organization_settings as s', 's.organizationId', 'r.organizationId')
    .select(['r.id', sql<string>`r.finished_at`.as('finishedAt')])
    .where('r.organizationId', '=', organizationId)
    .where('r.deletedAt', 'is', null)
    .where('r.parentRunId', 'is', null)
    .where('r.finishedAt', 'is not', null)
    .where(sql<SqlBool>`r.finished_at < now() - make_interval(days => s.run_retention_days)`)
    .where(sql<SqlBool>`not exists (select from runs d where d.root_run_id = r.id and d.deleted_at is null and d.finished_at is null)`)
    .where(
      sql<SqlBool>`not exists (select from budget_holds h join runs d on d.id::text = split_part(h.call_key, ':', 2)
        where h.state = 'held' and h.organization_id = r.organization_id and (d.id = r.id or d.root_run_id = r.id))`,
    )
    .orderBy('r.finishedAt')
    .orderBy('r.id')
    .limit(rootsATransaction);
  return after === null ? due : due.where(sql<SqlBool>`(r.finished_at, r.id) > (${after.finishedAt}::timestamptz, ${after.id}::uuid)`);
}
