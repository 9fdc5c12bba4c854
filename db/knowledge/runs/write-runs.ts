import type { ActorRef } from '../../actor-ref.ts';
import { newId } from '../../ids.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeErrorIds } from './knowledge-run-error.entity.ts';
import { KnowledgeRun, type KnowledgeRunKind } from './knowledge-run.entity.ts';
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
  await change(
    tx.em,
    `insert into knowledge_run_errors (run_id, ord, organization_id, workspace_id, stage, code, detail, ids)
     select ?::uuid, ?::int + n::int, ?::uuid, ?::uuid, e.stage, e.code, left(e.detail, 500), e.ids::jsonb
       from unnest(?::text[], ?::text[], ?::text[], ?::text[]) with ordinality as e (stage, code, detail, ids, n)`,
    [
      run.id,
      run.errorCount,
      run.organizationId,
      run.workspaceId,
      of('stage'),
      of('code'),
      of('detail'),
      errors.map(({ ids }) => JSON.stringify(ids ?? {})),
    ],
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
    `insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, until, created_at)
     values (?, ?, ?, ?, 'knowledge_run', ?, now() + make_interval(days => ?), now()) on conflict do nothing`,
    [newId(), attachmentId, organizationId, workspaceId, id, days],
  );
}
