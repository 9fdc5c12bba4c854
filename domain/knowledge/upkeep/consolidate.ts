import { deadlineIn } from '../../../ports/deadline.ts';
import { findFactGroup, findSummariesOf, markConsolidated, type FactGroup } from '../../../db/knowledge/upkeep/fact-groups.ts';
import type { MaintainedBase } from '../../../db/knowledge/bases/maintained-base.ts';
import { insertRelation } from '../../../db/knowledge/items/write-relations.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { askJudge } from './ask-judge.ts';
import { createItems, type ItemDraft } from '../items/create-items.ts';
import { printOf } from './dedupe.ts';
import { planIndex, type Indexer } from '../items/index-plan.ts';
import { toItemRow } from '../items/item-rules.ts';
import { fenceTexts, idsOf, textIsData } from './judge-prompt.ts';
import { shareForWriting, type TaskBatch } from './maintenance.ts';
import { lockSummaries, supersedeSummaries, type ReplacedSummaries } from './supersede-summaries.ts';

const maxSummaryChars = 4_000;
const maxIndexMs = 5_000;
const system = { kind: 'system', id: null } as const;

const schema = {
  type: 'object',
  properties: {
    summary: { type: 'string', minLength: 1, maxLength: maxSummaryChars },
    item_ids: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 20 },
  },
  required: ['summary', 'item_ids'],
  additionalProperties: false,
} as const;

const instructions = `You write one short summary of what the items of a knowledge base say about the one subject of their facts, with which each begins. State only what the items state, and where they disagree say so. List the ids of the items that the summary rests on. ${textIsData}`;

interface Summary {
  readonly text: string;
  readonly itemIds: readonly string[];
}

/**
 * Task `consolidate`: for three facts or more about one subject a judge writes a summary, an item of origin derived that is pending until a curator has
 * reviewed it, with the items as its evidence and relations derived_from; it replaces older summaries of the subject (`supersedeSummaries`). A subject whose
 * items have not changed since gets no second summary; a subject whose items have returned to an earlier state gets a new one, so that the newest one stands.
 * An answer that does not fit its schema, or names other ids, is dropped and counted. A dry run counts subjects.
 */
export async function consolidateStep(batch: TaskBatch): Promise<void> {
  const { run, base, cursor, itemIds, read, commit } = batch;
  const includePending = base.retrieval.include_pending;
  const group = await read((tx) => findFactGroup(tx, run.kbId, { after: cursor.after, ids: itemIds, includePending }));
  if (group === null)
    return commit(async (tx) => {
      await shareForWriting(tx, run.kbId);
      if (!run.dryRun) await markConsolidated(tx, run.kbId);
      return { next: null, done: 0 };
    });

  const next = { stage: null, after: group.subject };
  const print = `summary:${printOf(Object.fromEntries(group.items.map(({ id, hash }) => [id, hash])))}`;
  const { written: before, isThere } = await read((tx) => findSummariesOf(tx, run.kbId, print));
  const externalId = before === 0 ? print : `${print}:${before}`;
  if (isThere || run.dryRun) return commit(async () => ({ next, done: 1, counts: { subjects_found: isThere ? 0 : 1 } }));

  const summary = await summarize(batch, group);
  const draft = summary && (await draftOf(batch, { group, summary, externalId }));
  await commit(async (tx) => {
    const written =
      summary !== null && draft !== null && (await writeSummary(batch, tx, { draft, itemIds: summary.itemIds, subject: group.subject }));
    const counts = { subjects_found: 1, summaries_written: written ? 1 : 0, answers_dropped: summary === null ? 1 : 0 };
    return { next, done: 1, counts: { ...counts, summaries_superseded: 0, findings: 0, ...written } };
  });
}

async function summarize(batch: TaskBatch, { items }: FactGroup): Promise<Summary | null> {
  const step = `consolidate:${printOf(Object.fromEntries(items.map(({ id, hash }) => [id, hash])))}`;
  const answer = await askJudge(batch, {
    step,
    instructions,
    prompt: fenceTexts(items.map(({ id, content, fact }) => ({ id, content: `${JSON.stringify(fact)}\n\n${content}` }))),
    schema,
  });
  if (answer.kind !== 'fits') return null;
  const ids = [...new Set(idsOf(answer.value) ?? [])];
  if (ids.length === 0 || ids.some((id) => !items.some((item) => item.id === id))) return null;
  // Its form was checked against the schema.
  return { text: (answer.value as { readonly summary: string }).summary, itemIds: ids };
}

interface Drafted {
  readonly group: FactGroup;
  readonly summary: Summary;
  readonly externalId: string;
}

async function draftOf(batch: TaskBatch, { group, summary, externalId }: Drafted): Promise<ItemDraft> {
  const isUntrusted = group.items.some(({ id, trust }) => trust === 'untrusted' && summary.itemIds.includes(id));
  const row = toItemRow(
    {
      content: summary.text,
      title: group.subject.slice(0, 300),
      external_id: externalId,
      kind: 'summary',
      evidence: summary.itemIds.map((ref) => ({ kind: 'item', ref })),
      curation_state: 'pending',
    },
    { origin: 'derived', createdBy: system, trust: isUntrusted ? 'untrusted' : 'workspace' },
    { baseKind: batch.base.kind, pointer: '' },
  );
  return { row, plan: await planIndex(batch.base, row, indexerOf(batch)) };
}

function indexerOf({ tools }: TaskBatch): Indexer {
  return { embedder: tools.embedder, signal: deadlineIn(maxIndexMs) };
}

async function writeSummary(
  batch: TaskBatch,
  tx: TenantTransaction,
  { draft, itemIds, subject }: { readonly draft: ItemDraft; readonly itemIds: readonly string[]; readonly subject: string },
): Promise<ReplacedSummaries | false> {
  const base = await shareForWriting(tx, batch.run.kbId);
  const older = await lockSummaries(tx, base.id, subject);
  if (older.some(({ contentHash }) => contentHash === draft.row.contentHash)) return false;
  // A superseded summary may have the same content, which is allowed: the newest one has to stand.
  const [outcome] = await createItems(tx, asItemBase(base), { drafts: [draft], onDuplicate: 'allow', indexer: indexerOf(batch) });
  if (outcome?.status !== 'created') return false;
  const { id: kbId, organizationId, workspaceId } = base;
  for (const toItemId of itemIds)
    await insertRelation(tx, {
      kbId,
      organizationId,
      workspaceId,
      fromItemId: outcome.item.id,
      toItemId,
      type: 'derived_from',
      note: null,
      createdBy: system,
    });
  return supersedeSummaries(batch, tx, { base, summary: outcome.item, older });
}

/** The run was started by a caller who manages the base, and acts with these rights. */
function asItemBase(base: MaintainedBase) {
  return { ...base, canRead: true, canWrite: true, canCurate: true, reembedRunId: null, retentionDays: null };
}
