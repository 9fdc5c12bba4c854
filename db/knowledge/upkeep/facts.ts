import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeFact } from '../items/knowledge-item.entity.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Characters of an item that a judge reads. */
const judgedChars = 8_000;

/** Live items of a base that state something: neither superseded nor retired, and not summaries of others. */
const stating = `select i.*, x.judged as reading from knowledge_live_items i join knowledge_items x on x.id = i.id
   where i.kb_id = ? and i.curation_state in ('pending', 'reviewed', 'promoted') and i.kind <> 'summary'`;

/** A member of a fact, normalized for case, width and white space. */
const normal = (fact: string, member: string) => `lower(regexp_replace(btrim(normalize(${fact} ->> '${member}', NFKC)), '\\s+', ' ', 'g'))`;

/** Condition: the item has no fact of its own, and a judge has extracted facts from its content. */
const hasExtracted = `i.fact is null and i.reading ->> 'hash' = i.content_hash and jsonb_typeof(i.reading -> 'facts') = 'array'`;

/** Items with their own fact, or with the facts that a judge has extracted from their content. */
const factsSql = `
  select i.id, i.content, i.content_hash, tstzrange(i.valid_from, i.valid_until) as valid, f.fact, ${normal('f.fact', 'subject')} as subject,
         ${normal('f.fact', 'relation')} as relation, ${normal('f.fact', 'object')} as object
    from (${stating}) i cross join lateral (
      select i.fact where i.fact is not null
      union all select e.fact from jsonb_array_elements(case when ${hasExtracted} then i.reading -> 'facts' else '[]' end) as e (fact)) f`;

/** An item whose facts no judge has extracted yet. */
export interface UnreadItem {
  readonly id: string;
  readonly hash: string;
  readonly title: string | null;
  /** Its first characters. */
  readonly content: string;
}

/** Returns the next items of a base after `after`, by id, that have no fact of their own and whose content no judge has read; `ids` restricts them to these. */
export function findUnreadItems(
  tx: Tx,
  kbId: string,
  { after, ids, limit }: { readonly after: string | null; readonly ids: readonly string[] | null; readonly limit: number },
): Promise<UnreadItem[]> {
  return rows(
    tx.em,
    `select i.id, i.content_hash as hash, i.title, left(i.content, ${judgedChars}) as content from (${stating}) i
      where i.fact is null and not coalesce(${hasExtracted}, false)
        and (?::uuid is null or i.id > ?::uuid) and (?::uuid[] is null or i.id = any (?::uuid[])) order by i.id limit ?`,
    [kbId, after, after, ids, ids, limit],
  );
}

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
  await change(
    tx.em,
    `with locked as materialized (select id from knowledge_items where id = any (?::uuid[]) order by id for no key update),
          said as (select r.id, r.hash, r.facts, r.cleared from jsonb_to_recordset(?::jsonb) as r (id uuid, hash text, facts jsonb, cleared jsonb))
     update knowledge_items i set judged = jsonb_strip_nulls(jsonb_build_object('hash', i.content_hash,
         'facts', coalesce(s.facts, case when i.judged ->> 'hash' = i.content_hash then i.judged -> 'facts' end),
         'cleared', coalesce(case when i.judged ->> 'hash' = i.content_hash then i.judged -> 'cleared' end, '[]') || coalesce(s.cleared, '[]')))
       from said s where i.id = s.id and i.content_hash = s.hash and i.id in (select id from locked)`,
    [ids, JSON.stringify(read)],
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
export interface FactPair {
  readonly older: FactItem;
  readonly newer: FactItem;
  readonly about: readonly SharedRelation[];
}

/** Returns the next pairs of items after a pair (`newer:older`) that could contradict each other; `ids` restricts them to pairs that include one of these. */
export function findFactPairs(
  tx: Tx,
  kbId: string,
  { after, ids, limit }: { readonly after: string | null; readonly ids: readonly string[] | null; readonly limit: number },
): Promise<FactPair[]> {
  const [newer, older] = after?.split(':') ?? [null, null];
  const side = (alias: string) =>
    `(select jsonb_build_object('id', i.id, 'content', left(i.content, 4000), 'hash', i.content_hash) from knowledge_items i where i.id = ${alias})`;
  return rows(
    tx.em,
    `with facts as materialized (
       select id, subject, relation, min(fact ->> 'subject') as said_subject, min(fact ->> 'relation') as said_relation,
              array_agg(distinct object order by object) as objects, array_agg(distinct fact ->> 'object' order by fact ->> 'object') as said, valid
         from (${factsSql}) f where subject <> '' and relation <> '' group by id, subject, relation, valid),
     pairs as (
       select n.id as newer, o.id as older,
              jsonb_agg(jsonb_build_object('subject', o.said_subject, 'relation', o.said_relation, 'older', o.said, 'newer', n.said) order by n.subject, n.relation) as about
         from facts n join facts o on o.subject = n.subject and o.relation = n.relation and o.objects <> n.objects and o.valid && n.valid and o.id < n.id
        where (?::uuid is null or (n.id, o.id) > (?::uuid, ?::uuid)) and (?::uuid[] is null or n.id = any (?::uuid[]) or o.id = any (?::uuid[]))
        group by n.id, o.id order by n.id, o.id limit ?)
     select ${side('p.older')} as older, ${side('p.newer')} as newer, p.about from pairs p order by p.newer, p.older`,
    [kbId, newer, newer, older, ids, ids, ids, limit],
  );
}

/** Items about the same subject. */
export interface FactGroup {
  readonly subject: string;
  readonly items: readonly {
    readonly id: string;
    readonly content: string;
    readonly hash: string;
    readonly trust: string;
    readonly fact: KnowledgeFact;
  }[];
}

/** Returns the next group, by subject after `after`, of at least three items with a fact about one subject: its 20 newest. Null when there are no more. */
export async function findFactGroup(
  tx: Tx,
  kbId: string,
  {
    after,
    ids,
    includePending,
  }: { readonly after: string | null; readonly ids: readonly string[] | null; readonly includePending: boolean },
): Promise<FactGroup | null> {
  const [group] = await rows<FactGroup>(
    tx.em,
    `with wanted as materialized (
            select i.*, ${normal('i.fact', 'subject')} as subject from (${stating}) i
             where i.fact is not null and (?::boolean or i.curation_state <> 'pending') and (?::uuid[] is null or i.id = any (?::uuid[]))),
          next as (select subject from wanted where (?::text is null or subject > ?::text collate "C") and subject <> '' group by subject having count(*) >= 3 order by subject collate "C" limit 1)
     select x.subject, jsonb_agg(jsonb_build_object('id', x.id, 'content', left(x.content, 4000), 'hash', x.content_hash, 'trust', x.trust, 'fact', x.fact) order by x.id) as items
       from (select w.* from wanted w join next n on n.subject = w.subject order by w.id desc limit 20) x group by x.subject`,
    [kbId, includePending, ids, ids, after, after],
  );
  return group ?? null;
}

/** Returns the valid summaries that maintenance created from items about a subject, oldest first. */
export async function findSummaries(tx: Tx, kbId: string, subject: string): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `select s.id from knowledge_live_items s
      where s.kb_id = ? and s.kind = 'summary' and s.origin = 'derived' and s.external_id like 'summary:%' and s.curation_state in ('pending', 'reviewed', 'promoted')
        and (${normal(`jsonb_build_object('title', s.title)`, 'title')} = ?
          or exists (select from knowledge_relations r join knowledge_items i on i.id = r.to_item_id
                      where r.from_item_id = s.id and r.type = 'derived_from' and ${normal('i.fact', 'subject')} = ?)) order by s.id`,
    [kbId, subject, subject],
  );
  return found.map(({ id }) => id);
}

/**
 * Counts the summaries that maintenance created from the same items with the same contents, whose external ids begin with this one, and returns whether one
 * of them counts. A summary that a newer summary replaced does not count; one that a person retired or replaced does, since its text was judged.
 */
export async function findSummariesOf(
  tx: Tx,
  kbId: string,
  externalId: string,
): Promise<{ readonly written: number; readonly isThere: boolean }> {
  const [found] = await rows<{ written: number; isThere: boolean }>(
    tx.em,
    `select count(*)::int as written,
            coalesce(bool_or(not (s.curation_state = 'superseded' and n.kind = 'summary' and n.origin = 'derived' and n.id > s.id) or n.id is null), false) as "isThere"
       from knowledge_live_items s left join knowledge_items n on n.id = s.superseded_by_id
      where s.kb_id = ? and (s.external_id = ? or s.external_id like ?)`,
    [kbId, externalId, `${externalId}:%`],
  );
  return found ?? { written: 0, isThere: false };
}

/** Returns those of the given fingerprints of pairs that a judge has decided: contradictions of the base, whatever became of them, and pairs that are none. */
export async function knownPairs(
  tx: Tx,
  kbId: string,
  pairs: readonly { readonly fingerprint: string; readonly newerId: string }[],
): Promise<Set<string>> {
  const prints = pairs.map(({ fingerprint }) => fingerprint);
  const found = await rows<{ fingerprint: string }>(
    tx.em,
    `select fingerprint from knowledge_findings where kb_id = ? and kind = 'contradiction' and fingerprint = any (?::text[])
     union select c.print from knowledge_items i cross join lateral jsonb_array_elements_text(i.judged -> 'cleared') as c (print)
      where i.id = any (?::uuid[]) and jsonb_typeof(i.judged -> 'cleared') = 'array' and c.print = any (?::text[])`,
    [kbId, prints, [...new Set(pairs.map(({ newerId }) => newerId))], prints],
  );
  return new Set(found.map(({ fingerprint }) => fingerprint));
}

/** Records that a base was consolidated just now. */
export async function markConsolidated(tx: Pick<TenantTransaction, 'em'>, kbId: string): Promise<void> {
  await change(tx.em, 'update knowledge_bases set last_consolidated_at = now() where id = ?', [kbId]);
}
