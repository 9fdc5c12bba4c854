import { type Expression, type NotNull, sql } from 'kysely';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { liveKnowledgeRunStatuses, type KnowledgeRunStatus } from './knowledge-run.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Work on a base for a workflow, and whether that workflow's start is still unsent. */
export interface LiveWork {
  /** The key that orders pages. */
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly isUnsent: boolean;
}

export interface WorkPage {
  readonly after: string | null;
  readonly limit: number;
}

/** Precedes all ids. */
const noId = '00000000-0000-0000-0000-000000000000';
/** In the text, so that the partial index of live runs serves. */
const live = liveKnowledgeRunStatuses.map((status) => sql.lit<KnowledgeRunStatus>(status));
/** Younger work may be about to get its workflow. */
const oldest = sql<string>`now() - interval '1 minute'`;

/** Whether the start of a workflow has not been sent yet; `target`: the workflow's id. */
function isUnsent(target: Expression<string | null>) {
  const start = query
    .selectFrom('outbox as o')
    .where('o.target', '=', target)
    .where('o.kind', '=', sql.lit('workflow.start'))
    .where('o.sentAt', 'is', null);
  return sql<boolean>`exists ${start.select('o.id')}`.as('isUnsent');
}

/** Returns re-embeds that have neither cut over nor ended; the id of each is that of the base that it fills. Sweeper's pool. */
export function liveReembeds(tx: Tx, { after, limit }: WorkPage) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .innerJoin('knowledge_runs as r', (on) =>
        on.onRef('r.targetKbId', '=', 'b.id').on('r.kind', '=', 'reembed').on('r.finishedAt', 'is', null),
      )
      .where('b.activatedAt', 'is', null)
      .where('b.deletedAt', 'is', null)
      .where('b.organizationId', 'is not', null)
      .where('b.id', '>', after ?? noId)
      .where('b.createdAt', '<', oldest)
      .select(['b.id', 'r.id as runId', 'b.organizationId', 'b.workspaceId', isUnsent(sql`'reembed:' || b.id`)])
      .$narrowType<{ organizationId: NotNull }>()
      .orderBy('b.id')
      .limit(limit),
  );
}

export type LiveReembed = Awaited<ReturnType<typeof liveReembeds>>[number];

/**
 * Returns runs that have not ended, except re-embeds. `syncNo` is that of the source that a run ingests; null for other kinds, and when the source already
 * has another run. Sweeper's pool.
 */
export function liveRuns(tx: Tx, { after, limit }: WorkPage) {
  const workflow = sql<string | null>`case r.kind when 'ingest' then 'ingest:' || s.id || ':' || s.sync_no else 'maint:' || r.id end`;
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_runs as r')
      .leftJoin('knowledge_sources as s', (on) =>
        on.on('r.kind', '=', 'ingest').onRef('s.id', '=', 'r.sourceId').onRef('s.runId', '=', 'r.id'),
      )
      .where('r.status', 'in', live)
      .where('r.kind', '<>', 'reembed')
      .where('r.organizationId', 'is not', null)
      .where('r.id', '>', after ?? noId)
      .where('r.createdAt', '<', oldest)
      .select(['r.id', 'r.kbId', 'r.kind', 'r.sourceId', 's.syncNo', 'r.organizationId', 'r.workspaceId', isUnsent(workflow)])
      .$narrowType<{ organizationId: NotNull }>()
      .orderBy('r.id')
      .limit(limit),
  );
}

export type LiveRun = Awaited<ReturnType<typeof liveRuns>>[number];

/** Returns bases with items that wait for their index and that a workflow may index. Sweeper's pool. */
export function basesToIndex(tx: Tx, { after, limit }: WorkPage) {
  return rows(
    tx.em,
    query
      .selectFrom('knowledge_bases as b')
      .where('b.id', 'in', ({ selectFrom }) =>
        selectFrom('knowledge_items as i')
          .where('i.indexState', '=', sql.lit<'pending'>('pending'))
          .where('i.deletedAt', 'is', null)
          .where('i.stagedRunId', 'is', null)
          .select('i.kbId'),
      )
      .where('b.deletedAt', 'is', null)
      .where('b.activatedAt', 'is not', null)
      .where('b.successorId', 'is', null)
      .where('b.organizationId', 'is not', null)
      .where(({ exists, not, selectFrom }) =>
        not(
          exists(
            selectFrom('knowledge_runs as r')
              .whereRef('r.kbId', '=', 'b.id')
              .where('r.kind', '=', sql.lit<'reembed'>('reembed'))
              .where('r.status', 'in', live)
              .select('r.id'),
          ),
        ),
      )
      .where('b.id', '>', after ?? noId)
      .select(['b.id', 'b.organizationId', 'b.workspaceId', isUnsent(sql`'index:' || b.id`)])
      .$narrowType<{ organizationId: NotNull }>()
      .orderBy('b.id')
      .limit(limit),
  );
}
