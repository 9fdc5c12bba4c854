import { sql } from 'kysely';
import type { ActorRef } from '../../actor-ref.ts';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeErrorIds } from './knowledge-run-error.entity.ts';
import { KnowledgeRun } from './knowledge-run.entity.ts';
import type { KnowledgeRunKind } from '../../../workflows/contracts/knowledge/runs.ts';
import type { KnowledgeSource } from '../sources/knowledge-source.entity.ts';
import type { BasePlace } from '../items/write-chunks.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** The fields of a new run; omitted ones are empty. */
export interface NewRun {
  readonly kind: KnowledgeRunKind;
  readonly currency: string;
  readonly requestedBy: ActorRef;
  readonly tasks?: readonly string[];
  readonly dryRun?: boolean;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly sourceId?: string;
  readonly targetKbId?: string;
  readonly attachmentId?: string | null;
  readonly costEstimate?: string;
}

/** Creates the row of a run, in status queued. The caller flushes. */
export function makeRun(tx: Tx, { id: kbId, organizationId, workspaceId }: BasePlace, made: NewRun): KnowledgeRun {
  const none = { pausedReason: null, pausedAt: null, cursor: null, result: null, cutOverAt: null, startedAt: null, finishedAt: null };
  const run = tx.em.create(KnowledgeRun, {
    id: newId(),
    kbId,
    organizationId,
    workspaceId,
    kind: made.kind,
    currency: made.currency,
    requestedBy: made.requestedBy,
    tasks: [...(made.tasks ?? [])],
    dryRun: made.dryRun ?? false,
    params: { ...made.params },
    sourceId: made.sourceId ?? null,
    targetKbId: made.targetKbId ?? null,
    attachmentId: made.attachmentId ?? null,
    costEstimate: made.costEstimate ?? null,
    ...none,
  });
  tx.em.persist(run);
  return run;
}

/** Creates the row of a run that ingests a source. */
export function makeIngestRun(
  tx: Tx,
  source: KnowledgeSource,
  { currency, requestedBy }: Pick<NewRun, 'currency' | 'requestedBy'>,
): KnowledgeRun {
  const { id: sourceId, kbId, organizationId, workspaceId, attachmentId } = source;
  return makeRun(tx, { id: kbId, organizationId, workspaceId }, { kind: 'ingest', currency, requestedBy, sourceId, attachmentId });
}

/** An error of a run. `ids.line` counts from 1, `ids.offset` in bytes. */
export interface RunError {
  readonly stage: string;
  readonly code: string;
  readonly detail: string;
  readonly ids?: KnowledgeErrorIds;
}

/** Appends errors to a locked run and counts them on it. */
export async function addRunErrors(tx: Tx, run: KnowledgeRun, errors: readonly RunError[]): Promise<void> {
  if (errors.length === 0) return;
  const of = (name: 'stage' | 'code' | 'detail') => errors.map((error) => error[name]);
  const ids = errors.map((error) => JSON.stringify(error.ids ?? {}));
  const listed = sql<RunError & { n: number }>`
    unnest(${of('stage')}::text[], ${of('code')}::text[], ${of('detail')}::text[], ${ids}::text[]) with ordinality`;
  await change(
    tx.em,
    query
      .insertInto('knowledge_run_errors')
      .columns(['runId', 'ord', 'organizationId', 'workspaceId', 'stage', 'code', 'detail', 'ids'])
      .expression(({ selectFrom }) =>
        selectFrom(listed.as<'e'>(sql`e (stage, code, detail, ids, n)`))
          .select([sql<string>`${run.id}::uuid`.as('runId'), sql<number>`${run.errorCount}::int + e.n::int`.as('ord')])
          .select(sql<string | null>`${run.organizationId}::uuid`.as('organizationId'))
          .select([sql<string | null>`${run.workspaceId}::uuid`.as('workspaceId'), 'e.stage', 'e.code'])
          .select([sql<string>`left(e.detail, 500)`.as('detail'), sql<KnowledgeErrorIds>`e.ids::jsonb`.as('ids')]),
      ),
  );
  run.errorCount += errors.length;
}

/** Retains an attachment for some days on behalf of a knowledge run. */
export async function linkToRun(
  tx: Pick<TenantTransaction, 'em'>,
  { id, organizationId, workspaceId }: Pick<KnowledgeRun, 'id' | 'organizationId' | 'workspaceId'>,
  { attachmentId, days }: { readonly attachmentId: string; readonly days: number },
): Promise<void> {
  await change(
    tx.em,
    query
      .insertInto('attachment_links')
      .values({
        id: newId(),
        attachmentId,
        // Attachments lie in organizations: the column refuses null.
        organizationId: sql<string>`${organizationId}::uuid`,
        workspaceId,
        ownerKind: 'knowledge_run',
        ownerId: id,
        until: sql<string>`now() + make_interval(days => ${days})`,
        createdAt: sql<string>`now()`,
      })
      .onConflict((conflict) => conflict.doNothing()),
  );
}
