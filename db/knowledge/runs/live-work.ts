import { rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeRunKind } from './knowledge-run.entity.ts';

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

const place = (table: string) => `${table}.organization_id as "organizationId", ${table}.workspace_id as "workspaceId"`;
const isUnsent = (target: string) =>
  `exists (select from outbox o where o.target = ${target} and o.kind = 'workflow.start' and o.sent_at is null) as "isUnsent"`;
const behind = (column: string) => `${column} > coalesce(?::uuid, '00000000-0000-0000-0000-000000000000')`;
const isLive = `r.status in ('queued', 'running', 'paused', 'cancelling')`;
/** Younger work may be about to get its workflow. */
const isOld = (table: string) => `${table}.created_at < now() - interval '1 minute'`;

/** A re-embed; its id is that of the base that it fills. */
export interface LiveReembed extends LiveWork {
  readonly runId: string;
}

/** Returns re-embeds that have neither cut over nor ended. Sweeper's pool. */
export function liveReembeds(tx: Tx, { after, limit }: WorkPage): Promise<LiveReembed[]> {
  return rows<LiveReembed>(
    tx.em,
    `select b.id, r.id as "runId", ${place('b')}, ${isUnsent("'reembed:' || b.id")}
       from knowledge_bases b join knowledge_runs r on r.target_kb_id = b.id and r.kind = 'reembed' and r.finished_at is null
      where b.activated_at is null and b.deleted_at is null and b.organization_id is not null and ${behind('b.id')} and ${isOld('b')}
      order by b.id limit ?`,
    [after, limit],
  );
}

/** A run of another kind. `syncNo` is that of the source that it ingests; null for other kinds, and when the source already has another run. */
export interface LiveRun extends LiveWork {
  readonly kbId: string;
  readonly kind: KnowledgeRunKind;
  readonly sourceId: string | null;
  readonly syncNo: number | null;
}

/** Returns runs that have not ended, except re-embeds. Sweeper's pool. */
export function liveRuns(tx: Tx, { after, limit }: WorkPage): Promise<LiveRun[]> {
  return rows<LiveRun>(
    tx.em,
    `select r.id, r.kb_id as "kbId", r.kind, r.source_id as "sourceId", s.sync_no as "syncNo", ${place('r')},
            ${isUnsent(`case r.kind when 'ingest' then 'ingest:' || s.id || ':' || s.sync_no else 'maint:' || r.id end`)}
       from knowledge_runs r left join knowledge_sources s on r.kind = 'ingest' and s.id = r.source_id and s.run_id = r.id
      where ${isLive} and r.kind <> 'reembed' and r.organization_id is not null and ${behind('r.id')} and ${isOld('r')}
      order by r.id limit ?`,
    [after, limit],
  );
}

/** Returns bases with items that wait for their index and that a workflow may index. Sweeper's pool. */
export function basesToIndex(tx: Tx, { after, limit }: WorkPage): Promise<LiveWork[]> {
  return rows<LiveWork>(
    tx.em,
    `select b.id, ${place('b')}, ${isUnsent("'index:' || b.id")}
       from knowledge_bases b
      where b.id in (select i.kb_id from knowledge_items i where i.index_state = 'pending' and i.deleted_at is null and i.staged_run_id is null)
        and b.deleted_at is null and b.activated_at is not null and b.successor_id is null and b.organization_id is not null
        and not exists (select from knowledge_runs r where r.kb_id = b.id and r.kind = 'reembed' and ${isLive}) and ${behind('b.id')}
      order by b.id limit ?`,
    [after, limit],
  );
}
