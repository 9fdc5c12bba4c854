import { type Expression, sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeFact, KnowledgeJudged } from '../items/knowledge-item.entity.ts';
import { normal, statingItems } from './stating-items.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Characters of an item that a judge reads. */
const judgedChars = 8_000;

/** Condition: item `i` has no fact of its own, and a judge has extracted facts from its content. */
const hasExtracted = sql<boolean>`(i.fact is null and i.reading ->> 'hash' = i.content_hash and jsonb_typeof(i.reading -> 'facts') = 'array')`;

/** Items with their own fact, or with the facts that a judge has extracted from their content. */
function itemFacts(kbId: string) {
  const facts = sql<{ fact: KnowledgeFact }>`(
    select i.fact where i.fact is not null
    union all select e.fact from jsonb_array_elements(case when ${hasExtracted} then i.reading -> 'facts' else '[]' end) as e (fact))`;
  return query
    .selectFrom(statingItems(kbId).as('i'))
    .crossJoinLateral(facts.as('f'))
    .select(['i.id', sql<string>`tstzrange(i.valid_from, i.valid_until)`.as('valid'), 'f.fact'])
    .select([
      normal(sql`f.fact ->> 'subject'`).as('subject'),
      normal(sql`f.fact ->> 'relation'`).as('relation'),
      normal(sql`f.fact ->> 'object'`).as('object'),
    ]);
}

/** Which items of a base are read next: those after `after`; `ids` restricts them to these. */
export interface ItemRange {
  readonly after: string | null;
  readonly ids: readonly string[] | null;
}

/** Returns the next items of a base after `after`, by id, that have no fact of their own and whose content no judge has read; `ids` restricts them to these. */
export function findUnreadItems(tx: Tx, kbId: string, { after, ids, limit }: ItemRange & { readonly limit: number }) {
  let items = query
    .selectFrom(statingItems(kbId).as('i'))
    .where('i.fact', 'is', null)
    .where(sql<boolean>`not coalesce(${hasExtracted}, false)`)
    .select(['i.id', 'i.contentHash as hash', 'i.title', sql<string>`left(i.content, ${judgedChars})`.as('content')])
    .orderBy('i.id')
    .limit(limit);
  if (after !== null) items = items.where('i.id', '>', after);
  if (ids !== null) items = items.where('i.id', '=', anyId(ids));
  return rows(tx.em, items);
}

/** An item whose facts no judge has extracted yet: the hash of its content, and the first characters of it. */
export type UnreadItem = Awaited<ReturnType<typeof findUnreadItems>>[number];

/** What a judge has found in an item: facts in its content, or pairs that are no contradiction. */
export interface ReadItem {
  readonly id: string;
  /** Hash of the content that was read; results about other content are dropped. */
  readonly hash: string;
  readonly facts?: readonly KnowledgeFact[];
  readonly cleared?: readonly string[];
}

/** Stores what a judge has found in items, in addition to earlier results for the same content. The item itself does not change, so its version stays. */
export async function keepJudged(tx: Tx, read: readonly ReadItem[]): Promise<void> {
  if (read.length === 0) return;
  const ids = read.map(({ id }) => id);
  const isSame = sql<boolean>`knowledge_items.judged ->> 'hash' = knowledge_items.content_hash`;
  const judged = sql<KnowledgeJudged>`jsonb_strip_nulls(jsonb_build_object('hash', knowledge_items.content_hash,
    'facts', coalesce(s.facts, case when ${isSame} then knowledge_items.judged -> 'facts' end),
    'cleared', coalesce(case when ${isSame} then knowledge_items.judged -> 'cleared' end, '[]') || coalesce(s.cleared, '[]')))`;
  await change(
    tx.em,
    query
      .with(
        (cte) => cte('locked').materialized(),
        (of) => of.selectFrom('knowledge_items as i').where('i.id', '=', anyId(ids)).select('i.id').orderBy('i.id').forNoKeyUpdate(),
      )
      .updateTable('knowledge_items')
      .from(
        sql<ReadItem>`jsonb_to_recordset(${JSON.stringify(read)}::jsonb)`.as<'s'>(sql`s (id uuid, hash text, facts jsonb, cleared jsonb)`),
      )
      .set(({ ref }) => ({ judged, updatedAt: ref('knowledge_items.updatedAt') }))
      .whereRef('knowledge_items.id', '=', 's.id')
      .whereRef('knowledge_items.contentHash', '=', 's.hash')
      .where('knowledge_items.id', 'in', ({ selectFrom }) => selectFrom('locked').select('locked.id')),
  );
}

/** One side of a possible contradiction. */
export interface FactItem {
  readonly id: string;
  readonly content: string;
  readonly hash: string;
}

/** What two items state about the same subject and relation. */
export interface SharedRelation {
  readonly subject: string;
  readonly relation: string;
  /** Objects that the older item states. */
  readonly older: readonly string[];
  readonly newer: readonly string[];
}

/** Two items that state different objects for an equal subject and relation, with overlapping validity; the older one first. */
export type FactPair = Awaited<ReturnType<typeof findFactPairs>>[number];

/** Returns the next pairs of items after a pair (`newer:older`) that could contradict each other; `ids` restricts them to pairs that include one of these. */
export function findFactPairs(tx: Tx, kbId: string, { after, ids, limit }: ItemRange & { readonly limit: number }) {
  const [newer, older] = after?.split(':') ?? [];
  const about = sql<SharedRelation[]>`jsonb_agg(
    jsonb_build_object('subject', o.said_subject, 'relation', o.said_relation, 'older', o.said, 'newer', n.said) order by n.subject, n.relation)`;
  const side = (id: Expression<string>) => sql<FactItem>`(
    select jsonb_build_object('id', i.id, 'content', left(i.content, 4000), 'hash', i.content_hash) from knowledge_items i where i.id = ${id})`;
  return rows(
    tx.em,
    query
      .with(
        (cte) => cte('facts').materialized(),
        () => statedObjects(kbId),
      )
      .with('pairs', (of) => {
        let pairs = of
          .selectFrom('facts as n')
          .innerJoin('facts as o', (on) =>
            on
              .onRef('o.subject', '=', 'n.subject')
              .onRef('o.relation', '=', 'n.relation')
              .onRef('o.objects', '<>', 'n.objects')
              .onRef('o.valid', '&&', 'n.valid')
              .onRef('o.id', '<', 'n.id'),
          )
          .groupBy(['n.id', 'o.id'])
          .select(['n.id as newer', 'o.id as older', about.as('about')])
          .orderBy('n.id')
          .orderBy('o.id')
          .limit(limit);
        if (newer !== undefined) pairs = pairs.where(sql<boolean>`(n.id, o.id) > (${newer}::uuid, ${older}::uuid)`);
        if (ids !== null) pairs = pairs.where(({ eb, or }) => or([eb('n.id', '=', anyId(ids)), eb('o.id', '=', anyId(ids))]));
        return pairs;
      })
      .selectFrom('pairs as p')
      .select(({ ref }) => [side(ref('p.older')).as('older'), side(ref('p.newer')).as('newer'), 'p.about'])
      .orderBy('p.newer')
      .orderBy('p.older'),
  );
}

/** The objects that each item states for a subject and a relation, in comparable form and as they are written. */
function statedObjects(kbId: string) {
  return query
    .selectFrom(itemFacts(kbId).as('f'))
    .where('f.subject', '<>', '')
    .where('f.relation', '<>', '')
    .groupBy(['f.id', 'f.subject', 'f.relation', 'f.valid'])
    .select(['f.id', 'f.subject', 'f.relation', 'f.valid'])
    .select([
      sql<string>`min(f.fact ->> 'subject')`.as('saidSubject'),
      sql<string>`min(f.fact ->> 'relation')`.as('saidRelation'),
      sql<string[]>`array_agg(distinct f.object order by f.object)`.as('objects'),
      sql<string[]>`array_agg(distinct f.fact ->> 'object' order by f.fact ->> 'object')`.as('said'),
    ]);
}

/** Returns those of the given fingerprints of pairs that a judge has decided: contradictions of the base, whatever became of them, and pairs that are none. */
export async function knownPairs(
  tx: Tx,
  kbId: string,
  pairs: readonly { readonly fingerprint: string; readonly newerId: string }[],
): Promise<Set<string>> {
  const prints = sql<string>`any(${pairs.map(({ fingerprint }) => fingerprint)}::text[])`;
  const newer = [...new Set(pairs.map(({ newerId }) => newerId))];
  const cleared = sql<{ print: string }>`jsonb_array_elements_text(i.judged -> 'cleared')`.as<'c'>(sql`c (print)`);
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_findings as f')
      .where('f.kbId', '=', kbId)
      .where('f.kind', '=', 'contradiction')
      .where('f.fingerprint', '=', prints)
      .select('f.fingerprint')
      .union(
        query
          .selectFrom('knowledge_items as i')
          .crossJoinLateral(cleared)
          .where('i.id', '=', anyId(newer))
          .where(sql<boolean>`jsonb_typeof(i.judged -> 'cleared') = 'array'`)
          .where('c.print', '=', prints)
          .select('c.print as fingerprint'),
      ),
  );
  return new Set(found.map(({ fingerprint }) => fingerprint));
}
