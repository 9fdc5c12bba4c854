import type Type from 'typebox';
import { usableAttachment } from '../../domain/attachments/usable-attachment.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { openReadOnly, systemActor, tenantOf } from '../../db/transaction.ts';
import type { SentItem } from '../../domain/evaluations/dataset.ts';
import { readItem } from '../../ports/evaluations/dataset-items.ts';
import { createEvaluatorWork } from '../../ports/evaluations/evaluator-work.ts';
import { decodeBody } from '../../ports/request-text.ts';
import { readWhole } from '../../ports/storage/storage.ts';
import { Failure, fail, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { datasetReaderOf } from './dependencies.ts';
import { maxDatasetBytes, type EvaluationCreate } from './evaluation.schema.ts';

type Body = Type.Static<typeof EvaluationCreate>;
type Request = IdentifyRequest<Body>;

/** What is read from a request before its transaction: the items, unless they come from runs. */
export interface ReadRequest {
  readonly items: readonly SentItem[] | null;
}

/**
 * Reads the data set of an evaluation and checks what its evaluators name. Throws 422 with pointers or numbers of lines for what is wrong with either, 409 for a file that is not ready, 413 for one that is too
 * large, and `service_unavailable` as child processes do.
 */
export async function readRequest(request: Request): Promise<ReadRequest> {
  const { dataset, evaluators } = request.body;
  refuseSource(dataset);
  for (const [at, evaluator] of evaluators.entries()) await checkEvaluator(request, evaluator, `/evaluators/${at}`);
  if (dataset.items !== undefined) return { items: inlineItems(dataset.items) };
  if (dataset.from !== undefined) return { items: null };
  const [pointer, text] =
    dataset.text === undefined
      ? (['/dataset/attachment_id', await fileText(request)] as const)
      : (['/dataset/text', dataset.text] as const);
  if (Buffer.byteLength(text) > maxDatasetBytes) throw invalid(pointer, 'maxLength', 'must be at most 10 MB', { limit: maxDatasetBytes });
  const format = dataset.format === 'csv' ? 'csv' : 'jsonl';
  const read = await datasetReaderOf(request.deps).read(organizationOf(request.caller), { format, text }, pointer);
  return { items: read.map(({ item, line }) => ({ item, place: { pointer, line } })) };
}

function refuseSource({ format = 'inline', items, text, attachment_id: attachmentId, from }: Body['dataset']): void {
  const given = [items, text, attachmentId, from].filter((source) => source !== undefined);
  if (given.length !== 1) throw invalid('/dataset', 'oneOf', 'exactly one of items, text, attachment_id and from is required');
  const isText = text !== undefined || attachmentId !== undefined;
  if (isText && format === 'inline') throw invalid('/dataset/format', 'enum', 'must be jsonl or csv for a text or a file');
  if (!isText && format !== 'inline') throw invalid('/dataset/format', 'enum', 'must be omitted for items and for items taken from runs');
  if (from?.source === 'runs' && from.rating !== undefined)
    throw invalid('/dataset/from/rating', 'excludes', 'is only allowed with feedback');
}

function inlineItems(items: NonNullable<Body['dataset']['items']>): SentItem[] {
  const problems: Violation[] = [];
  const sent = items.flatMap((value, at): SentItem[] => {
    const pointer = `/dataset/items/${at}`;
    const read = readItem(value);
    if ('input' in read) return [{ item: read, place: { pointer, line: null } }];
    problems.push(
      ...read.map(({ pointer: field, rule, message }) => ({
        in: 'body' as const,
        pointer: `${pointer}${field}`,
        name: null,
        rule,
        message,
      })),
    );
    return [];
  });
  if (problems.length > 0) throw fail('validation_failed', { errors: problems.slice(0, 50) });
  return sent;
}

/** The file as the caller sees it, read before there is a transaction. */
async function fileText({ deps, caller, floor, correlationId, body }: Request): Promise<string> {
  const { tx } = openReadOnly(deps.db, { tenant: tenantOf(caller), actor: systemActor, correlationId });
  const pointer = '/dataset/attachment_id';
  const file = await usableAttachment({ ...tx, caller, floor }, body.dataset.attachment_id ?? '', pointer);
  if (file.sizeBytes > maxDatasetBytes) throw invalid(pointer, 'maxLength', 'must be at most 10 MB', { limit: maxDatasetBytes });
  const bytes = await readWhole(deps.storage, file, maxDatasetBytes);
  try {
    return decodeBody(bytes);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw invalid(pointer, 'encoding', 'must be UTF-8');
  }
}

async function checkEvaluator(
  { deps, caller }: Request,
  { type, params = {} }: Body['evaluators'][number],
  pointer: string,
): Promise<void> {
  const work = createEvaluatorWork(deps.work, deps.schemas, organizationOf(caller));
  const text = (name: string): string | null => (typeof params[name] === 'string' ? params[name] : null);
  if (type === 'regex' && (await work.find(text('pattern') ?? '', text('flags') ?? '', null)) !== 'missing')
    throw invalid(`${pointer}/params/pattern`, 'pattern', 'is not a regular expression that runs in linear time');
  if (type === 'json_schema' && typeof params['schema'] === 'object' && params['schema'] !== null) {
    const [problem] = await work.checkSchema({ ...params['schema'] });
    if (problem) throw invalid(`${pointer}/params/schema`, problem.rule, `is not a usable schema: ${problem.message}`.slice(0, 400));
  }
  if (type === 'llm_judge' || type === 'pairwise') {
    const model = deps.models.resolve(text('model'));
    if (model === null) throw invalid(`${pointer}/params/model`, 'reference', 'is not a model of this deployment', { kind: 'model' });
    if (model.adapter === 'builtin') throw invalid(`${pointer}/params/model`, 'unmet', 'is not a language model; judges need one');
  }
  if (type === 'embedding_similarity' && deps.embedder.find(text('model') ?? deps.embedder.defaultModel) === null)
    throw invalid(`${pointer}/params/model`, 'unmet', 'needs an embedding model of the deployment', { kind: 'model' });
}
