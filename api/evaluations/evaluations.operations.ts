import type Type from 'typebox';
import { Decimal } from 'decimal.js';
import { listEvaluationRows, readEvaluation } from '../../db/evaluations/evaluations.ts';
import { firstResults } from '../../db/evaluations/results.ts';
import { mapPage } from '../../db/page.ts';
import { createEvaluation, type EvaluationDraft } from '../../domain/evaluations/create-evaluation.ts';
import type { EvaluationSettings } from '../../workflows/contracts/evaluations.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { checkBytes, checkKeys } from '../http/input/bounds.ts';
import { area, get, list, post, type Ctx } from '../http/operation/operation.ts';
import {
  EvaluationCreate,
  EvaluationFilters,
  EvaluationParams,
  EvaluationRunDetailView,
  EvaluationRunView,
  maxResults,
  toEvaluationRunDetailView,
  toEvaluationRunView,
} from './evaluation.schema.ts';
import { readRequest, type ReadRequest } from './read-request.ts';

type Body = Type.Static<typeof EvaluationCreate>;

const maxBodyBytes = 12 * 1_024 * 1_024;

export const evaluations = area('Evaluations', {
  listEvaluations: list(
    '/evaluations',
    {
      summary: 'List evaluations',
      description: 'Evaluations that the caller can see, newest first, with their key figures.',
      access: 'viewer',
      paging: 'keyset',
      query: EvaluationFilters,
      view: EvaluationRunView,
    },
    async (ctx, { query: { agent_id: agentId, status } }) => {
      const filters = { ...(agentId === undefined ? {} : { agentId }), ...(status === undefined ? {} : { status }) };
      return mapPage(await listEvaluationRows(ctx, filters, ctx.page), toEvaluationRunView);
    },
  ),

  createEvaluation: post(
    '/evaluations',
    {
      summary: 'Evaluate an agent',
      description:
        'Runs an agent on the items of a data set and scores the answers with evaluators. Read the evaluation to see its progress; POST /runs/cancel with its id ends it. At most 20 evaluations of a workspace run at once.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'submit',
      idempotent: true,
      spends: true,
      success: [201],
      maxBodyBytes,
      location: (view: { readonly id: string }) => `/evaluations/${view.id}`,
      body: EvaluationCreate,
      view: EvaluationRunDetailView,
      identify: readRequest,
      example: {
        body: {
          agent_id: '01960000-0000-7000-8000-000000000001',
          dataset: { items: [{ id: 'capital', input: 'What is the capital of France?', expected: 'Paris' }] },
          evaluators: [{ key: 'names-it', type: 'contains' }],
        },
      },
    },
    async (ctx, { body, identified }) => {
      const row = await createEvaluation(ctx, draftOf(ctx, body, identified));
      ctx.audit({
        resourceType: 'evaluation',
        resourceId: row.id,
        label: row.datasetName,
        organizationId: row.organizationId,
        workspaceId: row.workspaceId,
      });
      return toEvaluationRunDetailView(row, null);
    },
  ),

  getEvaluation: get(
    '/evaluations/{evaluation_run_id}',
    {
      summary: 'Read an evaluation',
      description: 'Returns its progress, its figures with their intervals, and its results: errors first, then failures.',
      access: 'viewer',
      params: EvaluationParams,
      view: EvaluationRunDetailView,
    },
    async (ctx, { params }) => {
      const row = await readEvaluation(ctx, params.evaluation_run_id);
      return toEvaluationRunDetailView(row, await firstResults(ctx, row.id, maxResults));
    },
  ),
});

function draftOf(ctx: Ctx, body: Body, { items }: ReadRequest): EvaluationDraft {
  const { caller, deps } = ctx;
  const { dataset } = body;
  return {
    agentId: body.agent_id,
    agentRevisionId: body.agent_revision_id ?? null,
    datasetName: body.dataset_name ?? null,
    dataset: items === null ? { from: fromOf(dataset) } : { items },
    evaluators: body.evaluators,
    settings: settingsOf(body),
    baselineId: body.baseline_evaluation_run_id ?? null,
    defaultWorkspaceId: caller.view?.workspaceId ?? caller.workspaceId,
    createdByUserId: caller.userId,
    startedBy: {
      createdBy: { kind: caller.userId === null ? 'system' : 'user', id: caller.userId, actingUserId: null },
      currency: deps.env.billingCurrency,
      pricing: { modelOf: deps.models.resolve, unpriced: deps.env.unpricedModel },
      starter: { ctx, floor: ctx.floor },
    },
  };
}

function fromOf({ from }: Body['dataset']) {
  const { source = 'feedback', agent_id: agentId = null, rating, status = null, from: begin = null, to = null, limit = 100 } = from ?? {};
  return { source, agentId, rating: source === 'feedback' ? (rating ?? 'down') : null, status, from: begin, to, limit } as const;
}

function settingsOf(body: Body): EvaluationSettings {
  checkKeys('/metadata', body.metadata, 20);
  checkBytes('/metadata', body.metadata, 4_096);
  const maxCost = body.max_cost ?? null;
  if (maxCost !== null && new Decimal(maxCost).lessThanOrEqualTo(0)) throw invalid('/max_cost', 'minimum', 'must be above 0');
  return {
    repetitions: body.repetitions ?? 1,
    concurrency: body.concurrency ?? 5,
    max_cost: maxCost,
    max_error_rate: body.max_error_rate ?? 0.2,
    item_timeout_s: body.item_timeout_s ?? 600,
    tool_mode: body.tool_mode ?? 'read_only',
    metadata: body.metadata ?? {},
  };
}
