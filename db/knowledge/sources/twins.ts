import { type NotNull, sql } from 'kysely';
import { now } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { NewItemRow } from '../items/insert-items.ts';
import { dropItems } from './staged-items.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** A run and the source whose items it replaces. */
export interface Staging {
  readonly sourceId: string;
  readonly runId: string;
}

/**
 * Pairs staged and live items of a source that have the same hash and pages, in the order of their ids: the live item of a pair stays, with its id, state
 * and vectors, and its staged twin is dropped. Uses grouping, not a join: without statistics on what was just staged, PostgreSQL would compare each item
 * with each.
 */
function withPairs({ sourceId, runId }: Staging) {
  return query
    .with('numbered', (of) =>
      of
        .selectFrom('knowledge_items as i')
        .where(({ eb, or }) => or([eb('i.stagedRunId', 'is', null), eb('i.stagedRunId', '=', runId)]))
        .where('i.sourceId', '=', sourceId)
        .where('i.deletedAt', 'is', null)
        .select(['i.id', 'i.contentHash'])
        .select(({ eb }) => [
          eb('i.stagedRunId', 'is not', null).as('isStaged'),
          sql`coalesce(i.pages, '[]')`.as('pages'),
          sql<number>`row_number() over (partition by i.staged_run_id is not null, i.content_hash, coalesce(i.pages, '[]') order by i.id)`.as(
            'n',
          ),
        ]),
    )
    .with('paired', (of) =>
      of
        .selectFrom('numbered')
        .groupBy(['contentHash', 'pages', 'n'])
        .select([
          sql<string | null>`(array_agg(id) filter (where is_staged))[1]`.as('stagedId'),
          sql<string | null>`(array_agg(id) filter (where not is_staged))[1]`.as('oldId'),
        ]),
    );
}

// For the same reason, below: `offset 0` keeps a subquery from becoming a join, and PostgreSQL assumes an average size for a base that is compared with a
// column. A base that is compared with a value counts as empty while the statistics don't know it; then any index that begins with it seems as good as the
// right one.

/** Returns the key that two items share if they are the same passage of a file. */
export function twinKey({ contentHash, pages }: Pick<NewItemRow, 'contentHash' | 'pages'>): string {
  return [contentHash, ...(pages ?? []).map(({ page, start }) => `${page}:${start}`)].join(' ');
}

/** Where to look for twins. */
export interface TwinSearch extends Staging {
  readonly kbId: string;
  /** Staged items that don't count, whether they already exist or not. */
  readonly exceptIds: readonly string[];
}

/** For the given hashes, returns how many live items of the source have each, minus those already staged, by `twinKey`. Each one left is a free twin. */
export async function countFreeTwins(
  tx: Tx,
  { kbId, sourceId, runId, exceptIds }: TwinSearch,
  hashes: readonly string[],
): Promise<Map<string, number>> {
  const found = await rows(
    tx.em,
    query
      .selectFrom(sql<{ id: string }>`(select ${kbId}::uuid as id offset 0)`.as('b'))
      .innerJoin('knowledge_items as i', 'i.kbId', 'b.id')
      .where('i.sourceId', '=', sourceId)
      .where('i.deletedAt', 'is', null)
      .where(sql<boolean>`i.content_hash = any (${hashes}::text[])`)
      .where(sql<boolean>`i.id <> all (${exceptIds}::uuid[])`)
      .groupBy(['i.contentHash', 'i.pages'])
      .select(['i.contentHash', 'i.pages'])
      .select(
        sql<number>`(count(*) filter (where i.staged_run_id is null) - count(*) filter (where i.staged_run_id = ${runId}::uuid))::int`.as(
          'free',
        ),
      ),
  );
  return new Map(found.map((item) => [twinKey(item), item.free]));
}

/** Locks and returns the live items of the source without a staged twin, which are to be replaced, in the order of their ids. */
export function replacedItems(tx: Tx, staging: Staging) {
  return rows(
    tx.em,
    withPairs(staging)
      .selectFrom('knowledge_items as i')
      .where('i.id', 'in', ({ selectFrom }) => selectFrom('paired').select('paired.oldId').where('paired.stagedId', 'is', null))
      .select(['i.id', 'i.curationState as state'])
      .orderBy('i.id')
      .forUpdate('i'),
  );
}

/** Pairs of items, as a table. */
interface Twins {
  readonly staged: readonly string[];
  readonly old: readonly string[];
}

function twinTable({ staged, old }: Twins) {
  return sql<{ stagedId: string; oldId: string }>`unnest(${staged}::uuid[], ${old}::uuid[])`.as<'p'>(sql`p (staged_id, old_id)`);
}

/**
 * Gives the live items of pairs their twins' place in the file (key, title) and, unless a person has changed them, what the file says about them besides
 * their text: kind, fact, evidence, times, tags, metadata. Drops the twins. Returns how many items stayed.
 */
export async function settleTwins(tx: Tx, staging: Staging): Promise<number> {
  const pairs = await rows(
    tx.em,
    withPairs(staging)
      .selectFrom('paired')
      .where('stagedId', 'is not', null)
      .where('oldId', 'is not', null)
      .select(['stagedId', 'oldId'])
      .$narrowType<{ stagedId: NotNull; oldId: NotNull }>(),
  );
  if (pairs.length === 0) return 0;
  const twins = { staged: pairs.map(({ stagedId }) => stagedId), old: pairs.map(({ oldId }) => oldId) };
  await takePlaces(tx, twins);
  await takeFields(tx, twins);
  await dropItems(tx, twins.staged);
  return pairs.length;
}

/** Updates the live items of pairs; their twins are `s`. */
function updateTwins(twins: Twins) {
  return query
    .updateTable('knowledge_items')
    .from([twinTable(twins), 'knowledge_items as s'])
    .whereRef('knowledge_items.id', '=', 'p.oldId')
    .whereRef('s.id', '=', 'p.stagedId');
}

async function takePlaces(tx: Tx, twins: Twins): Promise<void> {
  // First clears the keys that change: two items may swap theirs.
  await change(
    tx.em,
    updateTwins(twins)
      .set(({ ref }) => ({ externalId: null, updatedAt: ref('knowledge_items.updatedAt') }))
      .whereRef('knowledge_items.externalId', 'is distinct from', 's.externalId'),
  );
  await change(
    tx.em,
    updateTwins(twins)
      .set(({ eb, ref }) => ({
        externalId: ref('s.externalId'),
        title: ref('s.title'),
        updatedAt: now,
        rowVersion: eb('knowledge_items.rowVersion', '+', 1),
      }))
      .where(({ eb, ref, or }) =>
        or([
          eb('knowledge_items.externalId', 'is distinct from', ref('s.externalId')),
          eb('knowledge_items.title', 'is distinct from', ref('s.title')),
        ]),
      )
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('knowledge_items as o')
              .whereRef('o.kbId', '=', 'knowledge_items.kbId')
              .whereRef('o.externalId', '=', 's.externalId')
              .whereRef('o.id', '<>', 'knowledge_items.id')
              .where('o.deletedAt', 'is', null)
              .where('o.stagedRunId', 'is', null)
              .offset(sql.lit(0)),
          ),
        ),
      ),
  );
}

const fields = ['kind', 'fact', 'evidence', 'validFrom', 'validUntil', 'observedAt', 'tags', 'metadata'] as const;
const fieldsOf = (alias: string) => sql.join(fields.map((name) => sql.ref(`${alias}.${name}`)));
const versioned = ['kbId', 'organizationId', 'workspaceId', 'title', 'content', 'contentHash', 'metadata', 'tags'] as const;

/** Versions store tags and metadata, so a change to them creates a new version. */
async function takeFields(tx: Tx, twins: Twins): Promise<void> {
  const changed = updateTwins(twins)
    .set(({ eb, ref }) => ({
      kind: ref('s.kind'),
      fact: ref('s.fact'),
      evidence: ref('s.evidence'),
      validFrom: ref('s.validFrom'),
      validUntil: ref('s.validUntil'),
      observedAt: ref('s.observedAt'),
      tags: ref('s.tags'),
      metadata: ref('s.metadata'),
      updatedAt: now,
      rowVersion: eb('knowledge_items.rowVersion', '+', 1),
      version: sql<number>`knowledge_items.version
        + case when (knowledge_items.tags, knowledge_items.metadata) is distinct from (s.tags, s.metadata) then 1 else 0 end`,
    }))
    .where(sql<boolean>`(${fieldsOf('knowledge_items')}) is distinct from (${fieldsOf('s')})`)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('knowledge_item_versions as v')
            .whereRef('v.itemId', '=', 'knowledge_items.id')
            .where('v.version', '>', 1)
            .where('v.reason', 'is distinct from', 'sync')
            .offset(sql.lit(0)),
        ),
      ),
    )
    .returning(['knowledge_items.id', 'knowledge_items.version', 'knowledge_items.createdBy'])
    .returning(versioned.map((name) => `knowledge_items.${name}` as const));
  await change(
    tx.em,
    query
      .with('changed', () => changed)
      .insertInto('knowledge_item_versions')
      .columns(['itemId', 'version', 'actor', 'reason', ...versioned])
      .expression(({ selectFrom }) =>
        selectFrom('changed as c')
          .select(['c.id as itemId', 'c.version', 'c.createdBy as actor', sql.lit('sync').as('reason')])
          .select(versioned.map((name) => `c.${name}` as const)),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
}
