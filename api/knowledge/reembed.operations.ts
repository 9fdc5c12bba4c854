import { setTimeout as delay } from 'node:timers/promises';
import Type from 'typebox';
import { readBase } from '../../db/knowledge/bases/bases.ts';
import { findKnowledgeRun } from '../../db/knowledge/runs/runs.ts';
import { transact } from '../../db/transaction.ts';
import { startReembed } from '../../domain/knowledge/reembed/request.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import { noteOfNamed } from '../http/operation/audit.ts';
import type { Ctx } from '../http/operation/context.ts';
import { post, reply } from '../http/operation/operation.ts';
import { closed, nullable, text } from '../http/input/schema.ts';
import { whileEntitled } from '../streams/while-entitled.ts';
import { modelOf } from './base-bodies.ts';
import { BaseParams, BaseSlug, KnowledgeBaseView, toKnowledgeBaseView } from './base.schema.ts';

const resourceType = 'knowledge_base';
/** How long the answer waits for the cut-over of a small base. */
const waitMs = 10_000;
const firstPauseMs = 50;
const maxPauseMs = 500;

const Reembed = closed(
  {
    slug: BaseSlug,
    embedding_model: Type.Optional(
      nullable(text(120, { minLength: 1, description: 'Defaults to that of the deployment; none: lexical search only' })),
    ),
  },
  { $id: 'Reembed' },
);

/** The only way to another embedding model. */
export const reembedOperations = {
  reembedKnowledgeBase: post(
    '/knowledge-bases/{kb_id}/reembed',
    {
      summary: 'Re-embed a knowledge base',
      description:
        'Creates a base with another or the same embedding model from the contents of the old base, and replaces the old base with it: grants and policy move to it with their ids, and agents and personas that name the old base use the new one. Until then, the old base can be searched and read as before, but its content cannot be changed. The reply waits up to 10 seconds for completion; X-Run-Id names the run, which shows the progress and can be cancelled. A run that fails or is cancelled leaves nothing behind.',
      access: 'admin',
      fails: ['not_found', 'state_conflict', 'already_exists', 'resource_frozen'],
      spends: true,
      audit: 'submit',
      idempotent: true,
      success: [201],
      resourceType,
      location: (view: { readonly id: string }) => `/knowledge-bases/${view.id}`,
      params: BaseParams,
      body: Reembed,
      view: KnowledgeBaseView,
      example: { body: { slug: 'handbook-2026', embedding_model: 'hash-v1' } },
    },
    async (ctx, { params, body }) => {
      const { embedder, env } = ctx.deps;
      const model = modelOf(embedder, body.embedding_model ?? null);
      const { billingCurrency: currency, unpricedModel: unpriced } = env;
      const started = await startReembed(ctx, params.kb_id, { slug: body.slug, model, entry: embedder.find(model.id), currency, unpriced });

      const { base, source, run } = started;
      ctx.audit(noteOfNamed(resourceType, base, { predecessor_id: { from: null, to: source.id } }));
      const made = toKnowledgeBaseView({ ...base, itemCount: 0, pending: 0, reviewed: 0, promoted: 0, superseded: 0, retired: 0 });
      const created = { status: 201, headers: { 'x-run-id': run.id } };
      return reply(made, {
        ...created,
        afterCommit: async () => {
          await waitForEnd(ctx, run.id);
          return reply((await viewOf(ctx, base.id)) ?? made, created);
        },
      });
    },
  ),
};

/** Polls the run's row, in separate transactions, until it has ended or the client no longer waits. */
async function waitForEnd(ctx: Ctx, runId: string): Promise<void> {
  const { deps, tenant, actor, correlationId } = ctx;
  const end = performance.now() + waitMs;
  await whileEntitled(ctx, {}, async (signal) => {
    for (let pauseMs = firstPauseMs; performance.now() < end && !signal.aborted; pauseMs = Math.min(pauseMs * 1.5, maxPauseMs)) {
      const { value: run } = await transact(deps.db, { tenant, actor, correlationId }, (tx) => findKnowledgeRun(tx, runId));
      if (run === null || run.finishedAt !== null) return;
      await delay(pauseMs);
    }
  });
}

/** The current base; null if the run has failed and removed it. */
async function viewOf(ctx: Ctx, kbId: string) {
  const { deps, tenant, actor, correlationId, caller, floor } = ctx;
  try {
    const { value } = await transact(deps.db, { tenant, actor, correlationId }, (tx) => readBase({ ...tx, caller, floor }, kbId));
    return toKnowledgeBaseView(value);
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return null;
    throw error;
  }
}
