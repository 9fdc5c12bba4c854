import { findUnreadItems, keepJudged, type ReadItem, type UnreadItem } from '../../../db/knowledge/upkeep/facts.ts';
import type { KnowledgeFact } from '../../../db/knowledge/items/knowledge-item.entity.ts';
import { askJudge } from './ask-judge.ts';
import { fenceTexts, textIsData } from './judge-prompt.ts';
import { shareForWriting, type TaskBatch, type TaskProgress } from './maintenance.ts';

/** Items of one batch; each is a question of its own, so that no text influences the reading of another. */
const atOnce = 5;
const maxFacts = 20;

const part = { type: 'string', minLength: 1, maxLength: 200 } as const;
const schema = {
  type: 'object',
  properties: {
    item_id: { type: 'string' },
    facts: {
      type: 'array',
      maxItems: maxFacts,
      items: {
        type: 'object',
        properties: { subject: part, relation: part, object: part },
        required: ['subject', 'relation', 'object'],
        additionalProperties: false,
      },
    },
  },
  required: ['item_id', 'facts'],
  additionalProperties: false,
} as const;

const instructions = `You list the facts that an item of a knowledge base states, each as a subject, a relation and an object: {"subject": "order desk", "relation": "opening time", "object": "8 am"}. Name a subject by its full name, a relation by the shortest usual noun in the singular, so that other items about the same name them alike. State only what the item states of the world; leave out opinions, questions, examples and orders. At most ${maxFacts} facts, the most definite first; none where there are none. Name the item by its id. ${textIsData}`;

/**
 * First stage of the task `contradictions`: the judge extracts facts from items that have none of their own, once for each content of an item. An answer that
 * does not fit its schema, or is about another item, is dropped and counted; the next run asks again. A dry run counts items.
 */
export async function extractFacts(batch: TaskBatch, then: NonNullable<TaskProgress['next']>): Promise<void> {
  const { run, cursor, itemIds, read, commit } = batch;
  const items = await read((tx) => findUnreadItems(tx, run.kbId, { after: cursor.after, ids: itemIds, limit: atOnce }));
  const answers: (readonly KnowledgeFact[] | null)[] = [];
  if (!run.dryRun) for (const item of items) answers.push(await factsOf(batch, item));
  const found = items.flatMap(({ id, hash }, at): ReadItem[] => (answers[at] ? [{ id, hash, facts: answers[at] }] : []));

  const last = items.at(-1);
  await commit(async (tx) => {
    await shareForWriting(tx, run.kbId);
    await keepJudged(tx, found);
    return {
      next: last !== undefined && items.length === atOnce ? { stage: 'facts', after: last.id } : then,
      done: items.length,
      counts: {
        items_read: items.length,
        facts_extracted: found.reduce((sum, { facts = [] }) => sum + facts.length, 0),
        answers_dropped: answers.length - found.length,
      },
    };
  });
}

/** Null: the answer was dropped. */
async function factsOf(batch: TaskBatch, { id, hash, title, content }: UnreadItem): Promise<readonly KnowledgeFact[] | null> {
  const text = title === null ? content : `${title}\n\n${content}`;
  const step = `facts:${id}:${hash}`;
  const answer = await askJudge(batch, { step, instructions, prompt: fenceTexts([{ id, content: text }]), schema });
  if (answer.kind !== 'fits') return null;
  // Its form was checked against the schema.
  const { item_id: itemId, facts } = answer.value as { readonly item_id: string; readonly facts: readonly KnowledgeFact[] };
  return itemId === id ? facts.map(({ subject, relation, object }) => ({ subject, relation, object })) : null;
}
