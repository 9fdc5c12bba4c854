import { sql } from 'kysely';
import type { DatasetItem, EvaluationSettings, StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { row, queueStatement } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** An evaluation to be stored. */
export interface NewEvaluation {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly agentRevisionId: string;
  readonly datasetName: string | null;
  readonly datasetSha256: string;
  readonly evaluators: readonly StoredEvaluator[];
  readonly settings: EvaluationSettings;
  readonly baselineId: string | null;
  readonly summary: Readonly<Record<string, unknown>>;
  readonly createdByUserId: string | null;
}

/** An item to be stored; its position is its place in the list. */
export interface NewItem extends Omit<DatasetItem, 'id'> {
  readonly key: string;
  readonly contentSha256: string;
}

const itemsAStatement = 500;
const resultsAStatement = 1_000;

/** Stores an evaluation with its items, and a pending result for each repetition of each; returns when it was created. */
export async function insertEvaluation(tx: TenantTransaction, evaluation: NewEvaluation, items: readonly NewItem[]): Promise<string> {
  const { id, organizationId, workspaceId, settings } = evaluation;
  const made = await row(
    tx.em,
    query
      .insertInto('evaluation_runs')
      .values({
        id,
        organizationId,
        workspaceId,
        settings,
        agentId: evaluation.agentId,
        agentRevisionId: evaluation.agentRevisionId,
        datasetName: evaluation.datasetName,
        datasetSha256: evaluation.datasetSha256,
        evaluators: [...evaluation.evaluators],
        baselineId: evaluation.baselineId,
        summary: evaluation.summary,
        createdByUserId: evaluation.createdByUserId,
      })
      .returning('createdAt'),
  );
  if (!made) throw new Error('the insert of an evaluation gave no row');
  const drafts = items.map((item, at) => ({ ...item, id: newId(), position: at + 1 }));
  const place = { organizationId, workspaceId, evaluationRunId: id };
  for (const part of partsOf(drafts, itemsAStatement)) await insertItems(tx, place, part);
  const results = drafts.flatMap((item) =>
    Array.from({ length: settings.repetitions }, (_, at) => ({ id: newId(), item_id: item.id, repetition: at + 1 })),
  );
  for (const part of partsOf(results, resultsAStatement)) await insertResults(tx, place, part);
  return made.createdAt;
}

interface Place {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly evaluationRunId: string;
}

async function insertItems(
  tx: TenantTransaction,
  { organizationId, workspaceId, evaluationRunId }: Place,
  items: readonly (NewItem & { readonly id: string; readonly position: number })[],
): Promise<void> {
  await queueStatement(
    tx.em,
    `insert into evaluation_items (id, organization_id, workspace_id, evaluation_run_id, item_key, position, content_sha256, input, expected, context, tools_expected,
       tags, cluster, evaluator_keys)
     select d.id, ?, ?, ?, d.key, d.position, d."contentSha256", d.input, nullif(d.expected, 'null'), nullif(d.context, 'null'), nullif(d."toolsExpected", 'null'),
            d.tags, d.cluster, d.evaluators
       from jsonb_to_recordset(?::jsonb) as d(id uuid, key text, position int, "contentSha256" text, input jsonb, expected jsonb, context jsonb,
         "toolsExpected" jsonb, tags text[], cluster text, evaluators text[])`,
    [organizationId, workspaceId, evaluationRunId, JSON.stringify(items)],
  );
}

async function insertResults(
  tx: TenantTransaction,
  { organizationId, workspaceId, evaluationRunId }: Place,
  results: readonly object[],
): Promise<void> {
  await queueStatement(
    tx.em,
    `insert into evaluation_results (id, organization_id, workspace_id, evaluation_run_id, item_id, repetition)
     select d.id, ?, ?, ?, d.item_id, d.repetition from jsonb_to_recordset(?::jsonb) as d(id uuid, item_id uuid, repetition int)`,
    [organizationId, workspaceId, evaluationRunId, JSON.stringify(results)],
  );
}

function partsOf<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
}

/** Returns how many evaluations of a workspace are queued or running. Requests count one after another, so that two at once can't both be the last. */
export async function countLiveEvaluations(tx: Pick<TenantTransaction, 'em'>, workspaceId: string): Promise<number> {
  await row(tx.em, query.selectFrom('workspaces').where('id', '=', workspaceId).select('id').forNoKeyUpdate());
  const counted = await row(
    tx.em,
    query
      .selectFrom('evaluation_runs')
      .where('workspaceId', '=', workspaceId)
      .where('status', 'in', ['queued', 'running'])
      .select(sql<number>`count(*)::int`.as('total')),
  );
  return counted?.total ?? 0;
}
