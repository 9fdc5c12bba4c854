import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import type { Condition } from '../../condition.ts';
import { preparedList } from '../../page-query.ts';
import type { PageRequest } from '../../page.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { visibleToSql, seen, visibleTo, type Scoped } from '../../scope.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { baseAccess, maintainedBases } from '../bases/access.ts';
import { KnowledgeBase } from '../bases/knowledge-base.entity.ts';
import type { KnowledgeErrorIds } from './knowledge-run-error.entity.ts';
import { KnowledgeRun, liveKnowledgeRunStatuses, type KnowledgeRunStatus } from './knowledge-run.entity.ts';
import type { KnowledgeRunKind } from '../../../workflows/contracts/knowledge/runs.ts';

type Tx = Pick<TenantTransaction, 'em'>;

export interface RunFilters {
  readonly kbId?: string;
  readonly kind?: KnowledgeRunKind;
  readonly status?: KnowledgeRunStatus;
}

/** A run as views show it. */
export type RunRow = Awaited<ReturnType<typeof listRunRows>>['items'][number];

interface ShownError {
  readonly stage: string;
  readonly code: string;
  readonly detail: string;
  readonly ids: KnowledgeErrorIds;
}

/** The first 20 errors of run `r`. */
const shownErrors = sql<ShownError[]>`(
  select coalesce(jsonb_agg(jsonb_build_object('stage', e.stage, 'code', e.code, 'detail', e.detail, 'ids', e.ids) order by e.ord), '[]')
    from (select * from knowledge_run_errors f where f.run_id = r.id order by f.ord limit 20) e)`;

function selectRuns() {
  return query
    .selectFrom('knowledge_runs as r')
    .innerJoin('knowledge_bases as b', 'b.id', 'r.kbId')
    .select(['r.id', 'r.kbId', 'r.organizationId', 'r.workspaceId', 'r.kind', 'r.tasks', 'r.status', 'r.pausedReason', 'r.dryRun'])
    .select(['r.sourceId', 'r.targetKbId', 'r.attachmentId', 'r.progress', 'r.counts', 'r.costEstimate', 'r.costSpent', 'r.currency'])
    .select(['r.errorCount', 'r.result', 'r.cutOverAt', 'r.requestedBy', 'r.createdAt', 'r.startedAt', 'r.finishedAt'])
    .select(shownErrors.as('errors'));
}

const readers = { access: 'manage', forAdmins: true } as const;

const runList = preparedList(
  ({ kbId, kind, status, place, readable }: ParametersOf<RunFilters & { readonly place: Condition; readonly readable: Condition }>) => {
    let runs = selectRuns().where(place).where(readable);
    if (kbId) runs = runs.where('r.kbId', '=', kbId);
    if (kind) runs = runs.where('r.kind', '=', kind);
    if (status) runs = runs.where('r.status', '=', status);
    return runs;
  },
  [{ column: 'r.id', type: 'uuid', descending: true }],
);

/** Lists runs of the bases whose maintenance the caller may read, newest first, including those of deleted bases. */
export function listRunRows(ctx: Scoped, filters: RunFilters, page: PageRequest) {
  const readable = maintainedBases(ctx, 'b', readers);
  return runList(ctx.em, { ...filters, place: visibleTo(ctx, KnowledgeBase, 'b'), readable }, page);
}

interface OneRun {
  readonly runId: string;
  readonly place: Condition;
  readonly readable: Condition;
  readonly canManage: Condition;
  readonly isAdmin: Condition;
}

const oneRun = prepared(({ runId, place, readable, canManage, isAdmin }: ParametersOf<OneRun>) =>
  selectRuns()
    .where('r.id', '=', runId)
    .where(place)
    .where(readable)
    .select((eb) => [eb.and([canManage]).$castTo<boolean>().as('canManage'), eb.and([isAdmin]).$castTo<boolean>().as('isAdmin')]),
);

/**
 * Returns a run whose base's maintenance the caller may read, with the caller's rights to manage the base. Throws 404 for others, 403 where the caller's
 * rank is below the floor.
 */
export async function readRun(ctx: Scoped, runId: string) {
  const { canManage, isAdmin } = baseAccess(ctx, 'b');
  const place = visibleToSql(ctx, KnowledgeBase, 'b');
  const readable = maintainedBases(ctx, 'b', readers);
  return seen(ctx, await row(ctx.em, oneRun({ runId, place, readable, canManage, isAdmin })));
}

/** Locks and returns a run; null when the transaction's tenant has none with that id. */
export function lockKnowledgeRun(tx: Tx, runId: string): Promise<KnowledgeRun | null> {
  return tx.em.findOne(KnowledgeRun, { id: runId }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true });
}

/** Returns what a run has cost so far, according to the ledger: a decimal string in the run's currency. */
export async function readRunCost(
  tx: Tx,
  { id, organizationId, createdAt }: Pick<KnowledgeRun, 'id' | 'organizationId' | 'createdAt'>,
): Promise<string> {
  const found = await row(
    tx.em,
    query
      .selectFrom('usage_entries as u')
      .where('u.organizationId', '=', organizationId)
      .where('u.occurredAt', '>=', sql<string>`${createdAt}::timestamptz`)
      .where('u.sourceKind', '=', 'maintenance')
      .where('u.sourceId', '=', id)
      .select(sql<string>`coalesce(sum(u.cost), 0)::numeric(20,9)::text`.as('cost')),
  );
  return found?.cost ?? '0';
}

/** Returns when the next window of an enforced budget of the workspace ends, or null when none ends. */
export async function nextWindowEnd(tx: Tx, workspaceId: string): Promise<string | null> {
  const found = await row(
    tx.em,
    query
      .selectFrom('budget_windows as w')
      .where('w.workspaceId', '=', workspaceId)
      .where('w.closedAt', 'is', null)
      .where('w.isEnforced', '=', true)
      .where('w.windowEnd', '>', sql<string>`now()`)
      .select(({ fn }) => fn.min<string | null>('w.windowEnd').as('at')),
  );
  return found?.at ?? null;
}

/** Whether a run started by a policy is working on a base, or was started for this occasion. */
export async function hasPolicyRun(tx: Tx, kbId: string, occasion: string): Promise<boolean> {
  const found = await row(
    tx.em,
    query
      .selectFrom('knowledge_runs as r')
      .where('r.kbId', '=', kbId)
      .where('r.kind', '=', 'maintenance')
      .where(sql<boolean>`jsonb_exists(r.params, 'occasion')`)
      .where(({ eb, or }) => or([sql<boolean>`r.params ->> 'occasion' = ${occasion}`, eb('r.status', 'in', liveKnowledgeRunStatuses)]))
      .select('r.id')
      .limit(1),
  );
  return found !== null;
}

/** Returns a run without locking it; null when the transaction's tenant has none with that id. */
export function findKnowledgeRun(tx: Tx, runId: string): Promise<KnowledgeRun | null> {
  return tx.em.findOne(KnowledgeRun, { id: runId }, { refresh: true });
}
