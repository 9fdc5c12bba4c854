import { Decimal } from 'decimal.js';
import { creatorOf } from '../../../db/actor-ref.ts';
import { periodWithoutRoom } from '../../../db/billing/budgets/budget-room.ts';
import { rejectsUnpriced, type UnpricedRule } from '../../../db/billing/prices/prices.ts';
import { readTerms } from '../../../db/billing/budgets/terms.ts';
import { newId } from '../../../db/ids.ts';
import { findWritingRun } from '../../../db/knowledge/bases/bases.ts';
import { KnowledgeBaseCounter } from '../../../db/knowledge/bases/knowledge-base-counter.entity.ts';
import { KnowledgeBase } from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import type { KnowledgeRun } from '../../../db/knowledge/runs/knowledge-run.entity.ts';
import { payingWorkspace } from '../../../db/knowledge/items/pending-items.ts';
import { makeRun } from '../../../db/knowledge/runs/write-runs.ts';
import { addOutbox } from '../../../db/outbox.ts';
import type { Changing } from '../../../db/scope.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { EmbeddingModel } from '../../../ports/embeddings/index.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { taskQueues, workflowIds } from '../../../workflows/contracts/queues.ts';
import { seeBaseForChange } from '../bases/bases.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';

/** The parameters of a re-embed. */
export interface ReembedRequest {
  /** Slug of the new base, free in the row scope of the old one. */
  readonly slug: string;
  readonly model: { readonly id: string; readonly dim: number };
  /** The model's entry in the registry; null for `none`. */
  readonly entry: EmbeddingModel | null;
  readonly currency: string;
  readonly unpriced: UnpricedRule;
}

export interface StartedReembed {
  readonly base: KnowledgeBase;
  readonly source: KnowledgeBase;
  readonly run: KnowledgeRun;
}

/**
 * Creates the successor of a base, freezes the base, and makes `reembed:<new base>` fill the successor after the commit.
 * @throws 404; 403 without manage, and for a base of the platform, for which no organization pays; 412; 423 `resource_frozen` for a base that is frozen,
 * superseded, or already being re-embedded; 409 `run_in_progress` while a run writes to it, `already_exists` for a slug that is taken; 402 `budget_exceeded`,
 * 422 `unpriced_model`
 */
export async function startReembed(ctx: Changing, kbId: string, asked: ReembedRequest): Promise<StartedReembed> {
  const { base: source, before } = await seeBaseForChange(ctx, kbId, { need: 'manage' });
  const { activatedAt, reembedRunId } = before;
  refuseFrozenBase({ isFrozen: source.isFrozen, successorId: source.successorId, activatedAt, reembedRunId });
  if (source.organizationId === null) throw fail('resource_forbidden', { detail: 'Platform bases have no runs.' });
  const writing = await findWritingRun(ctx, source.id);
  if (writing)
    throw fail('state_conflict', {
      reason: 'run_in_progress',
      detail: 'A run is working on this knowledge base.',
      context: { run_id: writing.id },
    });

  const estimate = await estimateOf(ctx, source, { ...asked, tokens: Number(before.tokens ?? 0) });
  const base = makeBuildingBase(ctx, source, asked);
  source.isFrozen = true;
  const { currency } = asked;
  const made = { kind: 'reembed', currency, requestedBy: creatorOf(ctx.actor), targetKbId: base.id, costEstimate: estimate } as const;
  const run = makeRun(ctx, source, { ...made, params: { embedding_model: asked.model.id } });
  await ctx.em.flush();
  await startWorkflow(ctx, run, base.id);
  return { base, source, run };
}

/** Copies all settings of the old base; the new base is hidden before the cut-over. */
function makeBuildingBase(ctx: Changing, source: KnowledgeBase, { slug, model }: ReembedRequest): KnowledgeBase {
  const { scope, organizationId, workspaceId, name, kind, ownerAgentId, ownerPersonaId, subjectKind, subjectId } = source;
  const id = newId();
  const base = ctx.em.create(KnowledgeBase, {
    ...{ id, slug, scope, organizationId, workspaceId, name, kind, ownerAgentId, ownerPersonaId, subjectKind, subjectId },
    isPrivate: source.isPrivate,
    isFrozen: true,
    embeddingModel: model.id,
    embeddingDim: model.dim,
    chunking: { ...source.chunking },
    retrieval: { ...source.retrieval },
    predecessorId: source.id,
    successorId: null,
    activatedAt: null,
    lastConsolidatedAt: source.lastConsolidatedAt,
    deletedAt: null,
  });
  ctx.em.persist(base);
  ctx.em.persist(ctx.em.create(KnowledgeBaseCounter, { kbId: id, organizationId, workspaceId }));
  return base;
}

/** Estimates the cost of the calls by the base's token count and the prices in force. */
async function estimateOf(
  tx: TenantTransaction,
  source: KnowledgeBase,
  { entry, currency, unpriced, tokens }: ReembedRequest & { readonly tokens: number },
): Promise<string> {
  if (entry === null || entry.inProcess) return '0';
  const workspaceId = await payingWorkspace(tx, source);
  if (workspaceId === null) throw fail('resource_forbidden', { detail: 'The organization has no active workspace to pay for it.' });
  const { prices, isBounded } = await readTerms(tx, { id: entry.id, currency }, { workspaceId, caps: [] });
  if (!entry.free && prices.length === 0 && rejectsUnpriced(unpriced, isBounded))
    throw fail('validation_failed', { reason: 'unpriced_model', detail: `The model ${entry.id} has no price.` });
  const price = prices.find(({ bucket }) => bucket === 'input')?.price ?? 0;
  const estimate = new Decimal(price).times(tokens).dividedBy(1_000_000).toDecimalPlaces(9, Decimal.ROUND_UP).toFixed(9);
  const period = await periodWithoutRoom(tx, workspaceId, estimate);
  if (period !== null)
    throw fail('budget_exceeded', {
      reason: period,
      detail: `The budget of the ${period} does not cover the estimated cost.`,
    });
  return estimate;
}

async function startWorkflow(tx: TenantTransaction, { id: runId, organizationId, workspaceId }: KnowledgeRun, kbId: string): Promise<void> {
  if (organizationId === null) return;
  const workflowId = workflowIds.reembed(kbId);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'reembedBase',
      workflowId,
      taskQueue: taskQueues.bulk,
      args: [{ runId }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 5,
      searchAttributes: { SourceId: kbId },
    },
    { dedupeKey: workflowId },
  );
}
