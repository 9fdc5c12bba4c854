import { sql } from 'kysely';
import type { DatasetItem, EvaluationSettings, StoredEvaluator } from '../../workflows/contracts/evaluations.ts';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { recordset, recordsetText } from '../recordset.ts';
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
    Array.from({ length: settings.repetitions }, (_, at) => ({ id: newId(), itemId: item.id, repetition: at + 1 })),
  );
  for (const part of partsOf(results, resultsAStatement)) await insertResults(tx, place, part);
  return made.createdAt;
}

interface Place {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly evaluationRunId: string;
}

interface ItemDraft extends NewItem {
  readonly id: string;
  readonly position: number;
}

function placeColumns({ organizationId, workspaceId, evaluationRunId }: Place) {
  return [
    sql<string>`${organizationId}::uuid`.as('organizationId'),
    sql<string>`${workspaceId}::uuid`.as('workspaceId'),
    sql<string>`${evaluationRunId}::uuid`.as('evaluationRunId'),
  ] as const;
}

async function insertItems(tx: TenantTransaction, place: Place, items: readonly ItemDraft[]): Promise<void> {
  const drafts = recordset<ItemDraft>(recordsetText(items), {
    id: 'uuid',
    key: 'text',
    position: 'int',
    contentSha256: 'text',
    input: 'jsonb',
    expected: 'jsonb',
    context: 'jsonb',
    toolsExpected: 'jsonb',
    tags: 'text[]',
    cluster: 'text',
    evaluators: 'text[]',
  });
  await queueStatement(
    tx.em,
    query
      .insertInto('evaluation_items')
      .columns([
        'id',
        'organizationId',
        'workspaceId',
        'evaluationRunId',
        'itemKey',
        'position',
        'contentSha256',
        'input',
        'expected',
        'context',
        'toolsExpected',
        'tags',
        'cluster',
        'evaluatorKeys',
      ])
      .expression(
        query
          .selectFrom(drafts.as('d'))
          .select(['d.id', ...placeColumns(place), 'd.key as itemKey', 'd.position', 'd.contentSha256', 'd.input'])
          .select([
            sql`nullif(d.expected, 'null')`.as('expected'),
            sql`nullif(d.context, 'null')`.as('context'),
            sql`nullif(d.tools_expected, 'null')`.as('toolsExpected'),
          ])
          .select(['d.tags', 'd.cluster', 'd.evaluators as evaluatorKeys']),
      ),
  );
}

interface ResultDraft {
  readonly id: string;
  readonly itemId: string;
  readonly repetition: number;
}

async function insertResults(tx: TenantTransaction, place: Place, results: readonly ResultDraft[]): Promise<void> {
  const drafts = recordset<ResultDraft>(recordsetText(results), { id: 'uuid', itemId: 'uuid', repetition: 'int' });
  await queueStatement(
    tx.em,
    query
      .insertInto('evaluation_results')
      .columns(['id', 'organizationId', 'workspaceId', 'evaluationRunId', 'itemId', 'repetition'])
      .expression(query.selectFrom(drafts.as('d')).select(['d.id', ...placeColumns(place), 'd.itemId', 'd.repetition'])),
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
