import { evaluationCapKey } from '../../db/billing/budgets/cap-keys.ts';
import { openCaps } from '../../db/billing/budgets/caps.ts';
import { findEvaluation, type EvaluationRow } from '../../db/evaluations/evaluations.ts';
import { runsAsItems, type RunAsItem } from '../../db/evaluations/from-runs.ts';
import { countLiveEvaluations, insertEvaluation } from '../../db/evaluations/insert-evaluation.ts';
import { wakeEvaluation } from '../../db/evaluations/run-ended.ts';
import { newId } from '../../db/ids.ts';
import { refuseRank } from '../../db/caller-scope.ts';
import { refuseUnpriced } from '../runs/start/start-prices.ts';
import { spendingRefusal } from '../billing/budgets.ts';
import { agentInactive, resolveStarts } from '../runs/start/start-target.ts';
import type { Scoped } from '../../db/scope.ts';
import type { EvaluationSettings } from '../../workflows/contracts/evaluations.ts';
import type { RunStatus } from '../../workflows/contracts/runs/runs.ts';
import { Failure, fail, invalid } from '../../workflows/contracts/failure.ts';
import { datasetEmpty, datasetHash, toItems, type SentItem } from './dataset.ts';
import { completeEvaluators, type EvaluatorDraft } from './evaluators.ts';
import { collectFacts } from './item-facts.ts';
import { summarize } from './summary.ts';
import type { StartRun } from '../../db/runs/start/start-run.ts';
import type { StartTarget } from '../../db/runs/start/start-target.ts';

/** Runs or votes that become items. */
export interface DatasetFrom {
  readonly source: 'feedback' | 'runs';
  readonly rating: 'up' | 'down' | null;
  readonly status: RunStatus | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly limit: number;
}

/** A requested evaluation. */
export interface EvaluationDraft {
  readonly agentId: string;
  readonly agentRevisionId: string | null;
  readonly datasetName: string | null;
  /** Items as they were sent, or the source of items. */
  readonly dataset: { readonly items: readonly SentItem[] } | { readonly from: DatasetFrom & { readonly agentId: string | null } };
  readonly evaluators: readonly EvaluatorDraft[];
  readonly settings: EvaluationSettings;
  readonly baselineId: string | null;
  /** The workspace of the evaluation when the agent has none of its own. */
  readonly defaultWorkspaceId: string | null;
  readonly createdByUserId: string | null;
  /** The fields of every start by the caller. */
  readonly startedBy: Pick<StartRun, 'createdBy' | 'currency' | 'starter' | 'pricing'>;
}

const maxLive = 20;
const maxResults = 20_000;

/**
 * Writes a queued evaluation with its items and results, its cap and the start of its workflow. Throws 422 for references that do not resolve and invalid
 * values, 403 for live tools below admin, 409 `agent_inactive` and `baseline_not_finished`, 423 in a frozen workspace, 402 and 429 by its budgets, 429
 * `live_evaluations` while 20 evaluations of the workspace are running.
 */
export async function createEvaluation(ctx: Scoped, draft: EvaluationDraft): Promise<EvaluationRow> {
  const target = await resolveAgent(ctx, draft);
  const { organizationId, workspaceId, agentId, revisionId } = target;
  if (draft.settings.tool_mode === 'live') refuseRank(ctx.caller, workspaceId, 'admin');
  refuseReadiness(target);
  const baseline = draft.baselineId === null ? null : await seeBaseline(ctx, draft.baselineId, workspaceId);
  const sent = 'items' in draft.dataset ? draft.dataset.items : await itemsFrom(ctx, target, draft.dataset.from);
  const items = toItems(sent, new Set(draft.evaluators.map(({ key }) => key)));
  if (items.length * draft.settings.repetitions > maxResults)
    throw invalid('/repetitions', 'maximum', `items times repetitions must be at most ${maxResults}`, { limit: maxResults });
  const evaluators = completeEvaluators(draft.evaluators, {
    hasExpected: items.some(({ expected }) => expected !== null),
    hasToolsExpected: items.some(({ toolsExpected }) => toolsExpected !== null),
    hasBaseline: baseline !== null,
  });
  if ((await countLiveEvaluations(ctx, workspaceId)) >= maxLive)
    throw fail('rate_limited', {
      reason: 'live_evaluations',
      detail: `A workspace can run at most ${maxLive} evaluations at once.`,
      retryAfterS: 30,
    });

  const id = newId();
  const place = { id, organizationId, workspaceId };
  const numbers = summarize({ ...collectFacts().end(), results: items.length * draft.settings.repetitions }, evaluators, '0');
  const { max_cost: maxCost } = draft.settings;
  const evaluation = {
    ...place,
    agentId,
    agentRevisionId: revisionId,
    datasetName: draft.datasetName,
    datasetSha256: datasetHash(items),
    evaluators,
    settings: draft.settings,
    baselineId: baseline?.id ?? null,
    summary: { ...numbers, items: items.length, baseline: null },
    createdByUserId: draft.createdByUserId,
  };
  const createdAt = await insertEvaluation(ctx, evaluation, items);
  if (maxCost !== null)
    await openCaps(ctx, [
      { capKey: evaluationCapKey(id), organizationId, workspaceId, limit: maxCost, currency: draft.startedBy.currency },
    ]);
  await wakeEvaluation(ctx, place, 'start');
  return {
    id,
    organizationId,
    workspaceId,
    agentId,
    agentRevisionId: revisionId,
    datasetName: evaluation.datasetName,
    datasetSha256: evaluation.datasetSha256,
    evaluators,
    settings: draft.settings,
    baselineId: evaluation.baselineId,
    status: 'queued',
    summary: evaluation.summary,
    failureCode: null,
    resultsAttachmentId: null,
    createdAt,
    finishedAt: null,
  };
}

/** Resolves the agent with the revision to be pinned, as a start of a run would. */
async function resolveAgent(
  ctx: Scoped,
  { agentId, agentRevisionId, defaultWorkspaceId, startedBy }: EvaluationDraft,
): Promise<StartTarget> {
  const start: StartRun = {
    ...startedBy,
    workspaceId: null,
    defaultWorkspaceId,
    agent: { id: agentId },
    revisionId: agentRevisionId,
    personaSlug: null,
    input: {},
    sessionKey: null,
    subject: null,
    source: 'evaluation',
    onBusy: 'enqueue',
    limits: {},
    metadata: {},
  };
  const [target] = await refuseUnpriced(ctx, [start], await resolveStarts(ctx, [start]));
  if (target === undefined) throw new Error('a start gave no target');
  if (!(target instanceof Failure)) return target;
  if (target.errors.some(({ pointer }) => pointer === '/revision_id'))
    throw invalid('/agent_revision_id', 'reference', 'The agent has no such revision.', { kind: 'agent_revision' });
  throw target;
}

function refuseReadiness({ inactiveReason, isAgentActive, spending }: StartTarget): void {
  if (inactiveReason !== null)
    throw fail('resource_frozen', { reason: inactiveReason, detail: 'The workspace is archived, or its organization is not active.' });
  if (!isAgentActive) throw agentInactive();
  const refusal = spendingRefusal(spending);
  if (refusal) throw refusal;
}

async function seeBaseline(ctx: Scoped, id: string, workspaceId: string): Promise<EvaluationRow> {
  const found = await findEvaluation(ctx, id);
  if (found === null || found.workspaceId !== workspaceId)
    throw invalid('/baseline_evaluation_run_id', 'reference', 'The evaluation does not exist in this workspace.', { kind: 'evaluation' });
  if (found.status !== 'succeeded')
    throw fail('state_conflict', {
      reason: 'baseline_not_finished',
      detail: 'The baseline evaluation has not succeeded.',
      context: { status: found.status },
    });
  return found;
}

async function itemsFrom(
  ctx: Scoped,
  { workspaceId, agentId }: StartTarget,
  from: DatasetFrom & { readonly agentId: string | null },
): Promise<readonly SentItem[]> {
  const found = await runsAsItems(ctx, { ...from, workspaceId, agentId: from.agentId ?? agentId });
  const items = found.filter(isShort).map(toSentItem);
  if (items.length === 0) throw datasetEmpty();
  return items;
}

const maxInputBytes = 65_536;
const maxExpectedBytes = 32_768;

/** Drops runs that do not fit into an item. */
function isShort({ text, json, correction }: RunAsItem): boolean {
  const input = text ?? JSON.stringify(json ?? '');
  return input !== '' && Buffer.byteLength(input) <= maxInputBytes && Buffer.byteLength(correction ?? '') <= maxExpectedBytes;
}

function toSentItem({ id, text, json, correction }: RunAsItem): SentItem {
  return {
    item: {
      id,
      input: text ?? json ?? '',
      expected: correction,
      context: null,
      toolsExpected: null,
      tags: [],
      cluster: null,
      evaluators: null,
    },
    place: { pointer: '/dataset/from', line: null },
  };
}
