import { findFactPairs, keepJudged, knownPairs, type FactPair } from '../../../db/knowledge/upkeep/facts.ts';
import { writeFindings, type NewFinding } from '../../../db/knowledge/upkeep/write-findings.ts';
import { askJudge } from './ask-judge.ts';
import { printOf } from './dedupe.ts';
import { extractFacts } from './extract-facts.ts';
import { fenceTexts, idsOf, textIsData } from './judge-prompt.ts';
import type { Judgement } from './judge.ts';
import { shareForWriting, type TaskBatch } from './maintenance.ts';

/** Pairs that are read at once, and how many of them are judged in one batch. */
const pageSize = 50;
const judgedAtOnce = 5;

const schema = {
  type: 'object',
  properties: {
    contradicts: { type: 'boolean' },
    item_ids: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 },
    explanation: { type: 'string', maxLength: 500 },
  },
  required: ['contradicts', 'item_ids', 'explanation'],
  additionalProperties: false,
} as const;

const instructions = `You compare two items of a knowledge base that state something about the same subject and relation at the same time; each begins with what it states of them. Say whether both can not be true at once. Different wording, more or less detail, and statements that add to each other are no contradiction. Name both items by their ids. ${textIsData}`;

/**
 * Task `contradictions`: extracts facts from items that have none of their own, then judges pairs of items with equal normalised subject and relation,
 * different objects and overlapping validity, each pair of contents once; each contradiction is a finding. An answer that does not fit its schema, or names
 * other ids, is dropped and counted; the next run asks again. A dry run counts items and pairs.
 */
export async function contradictionsStep(batch: TaskBatch): Promise<void> {
  const { stage, after } = batch.cursor;
  if (stage === 'facts' || (stage === null && after === null)) return extractFacts(batch, { stage: 'pairs', after: null });
  return judgePairs(batch);
}

async function judgePairs(batch: TaskBatch): Promise<void> {
  const { run, read, commit } = batch;
  const { fresh, next } = await read((tx) => nextPairs(batch, tx));
  const judged: JudgedPair[] = [];
  if (!run.dryRun) for (const pair of fresh) judged.push({ pair, ...(await judgePair(batch, pair)) });
  const found = judged.flatMap(({ pair, explanation }) => (explanation === null ? [] : [findingOf(pair, explanation)]));
  const cleared = judged.filter(({ explanation, isDropped }) => explanation === null && !isDropped);

  await commit(async (tx, locked) => {
    await shareForWriting(tx, run.kbId);
    const open = await writeFindings(tx, locked, found);
    await keepJudged(tx, clearedItems(cleared.map(({ pair }) => pair)));
    return {
      next,
      done: fresh.length,
      counts: {
        pairs_compared: fresh.length,
        contradictions_found: found.length,
        answers_dropped: judged.filter(({ isDropped }) => isDropped).length,
        findings: open.length,
      },
    };
  });
}

/** Returns the next pairs that no judge has answered yet, and where the task continues after them. */
async function nextPairs({ run, cursor, itemIds }: TaskBatch, tx: Parameters<typeof findFactPairs>[0]) {
  const page = await findFactPairs(tx, run.kbId, { after: cursor.after, ids: itemIds, limit: pageSize });
  const asked = page.map((pair) => ({ fingerprint: fingerprintOf(pair), newerId: pair.newer.id }));
  const known = await knownPairs(tx, run.kbId, asked);
  const unknown = page.filter((pair) => !known.has(fingerprintOf(pair)));
  const fresh = unknown.slice(0, judgedAtOnce);
  const last = unknown.length > fresh.length ? fresh.at(-1) : page.at(-1);
  const isMore = unknown.length > fresh.length || page.length === pageSize;
  return { fresh, next: last !== undefined && isMore ? { stage: 'pairs', after: `${last.newer.id}:${last.older.id}` } : null };
}

/** A pair that the judge finds free of contradiction is recorded with the newer item. */
function clearedItems(pairs: readonly FactPair[]) {
  const byItem = new Map<string, { id: string; hash: string; cleared: string[] }>();
  for (const pair of pairs) {
    const { id, hash } = pair.newer;
    const read = byItem.get(id) ?? { id, hash, cleared: [] };
    read.cleared.push(fingerprintOf(pair));
    byItem.set(id, read);
  }
  return [...byItem.values()];
}

interface JudgedPair {
  readonly pair: FactPair;
  /** Null: no contradiction. */
  readonly explanation: string | null;
  readonly isDropped: boolean;
}

async function judgePair(batch: TaskBatch, pair: FactPair): Promise<Omit<JudgedPair, 'pair'>> {
  const { older, newer, about } = pair;
  const stated = (side: 'older' | 'newer') =>
    about.flatMap((shared) => shared[side].map((object) => JSON.stringify([shared.subject, shared.relation, object]))).join('\n');
  const texts = [
    { id: older.id, content: `${stated('older')}\n\n${older.content}` },
    { id: newer.id, content: `${stated('newer')}\n\n${newer.content}` },
  ];
  const answer = await askJudge(batch, {
    step: `contradictions:${fingerprintOf(pair)}`,
    instructions,
    prompt: fenceTexts(texts),
    schema,
  });
  return readAnswer(answer, pair);
}

function readAnswer(answer: Judgement, { older, newer }: FactPair): Omit<JudgedPair, 'pair'> {
  if (answer.kind !== 'fits') return { explanation: null, isDropped: true };
  const ids = new Set(idsOf(answer.value) ?? []);
  if (ids.size !== 2 || !ids.has(older.id) || !ids.has(newer.id)) return { explanation: null, isDropped: true };
  // Its form was checked against the schema.
  const { contradicts, explanation } = answer.value as { readonly contradicts: boolean; readonly explanation: string };
  return { explanation: contradicts ? explanation : null, isDropped: false };
}

function hashesOf({ older, newer }: FactPair): Record<string, string> {
  return { [older.id]: older.hash, [newer.id]: newer.hash };
}

/** When texts or facts change, the question is a new one. */
function fingerprintOf(pair: FactPair): string {
  return printOf({ ...hashesOf(pair), about: JSON.stringify(pair.about) });
}

function findingOf(pair: FactPair, explanation: string): NewFinding {
  const detail = { hashes: hashesOf(pair), about: pair.about, explanation };
  return { kind: 'contradiction', fingerprint: fingerprintOf(pair), itemIds: [pair.older.id, pair.newer.id], detail };
}
