import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { BaseModel } from '../items/write-chunks.ts';
import type { BasePair } from './base-pair.ts';
import { withNewIds } from './copies.ts';

type Tx = Pick<TenantTransaction, 'em'>;

const sourceColumns = [
  'organizationId',
  'workspaceId',
  'kind',
  'title',
  'uri',
  'attachmentId',
  'text',
  'itemKind',
  'tags',
  'metadata',
  'mediaType',
  'contentHash',
  'extractor',
  'state',
  'itemCount',
  'chunkCount',
  'tokenCount',
  'warnings',
  'error',
  'syncNo',
  'lastSyncedAt',
  'createdBy',
  'createdAt',
  'updatedAt',
] as const;

/** Copies the sources of a base, with links to their files. From then on, syncs go to the copies. Returns the number of sources copied. */
export async function copySources(tx: Tx, { from, to }: BasePair): Promise<number> {
  const live = query.selectFrom('knowledge_sources as s').where('s.kbId', '=', from.id).where('s.deletedAt', 'is', null);
  const ids = (await rows(tx.em, live.select('s.id').orderBy('s.id'))).map(({ id }) => id);
  if (ids.length === 0) return 0;
  const copied = await change(
    tx.em,
    query
      .insertInto('knowledge_sources')
      .columns(['id', 'kbId', 'predecessorSourceId', ...sourceColumns])
      .expression(({ selectFrom }) =>
        selectFrom(withNewIds(ids))
          .innerJoin('knowledge_sources as s', 's.id', 'v.oldId')
          .select(['v.id', sql<string>`${to.id}::uuid`.as('kbId'), 's.id as predecessorSourceId'])
          .select(sourceColumns.map((name) => `s.${name}` as const)),
      )
      .onConflict((conflict) => conflict.columns(['kbId', 'predecessorSourceId']).where('predecessorSourceId', 'is not', null).doNothing()),
  );
  await linkFiles(tx, to);
  return copied;
}

async function linkFiles(tx: Tx, { id }: BaseModel): Promise<void> {
  const wanted = await rows(
    tx.em,
    query
      .selectFrom('knowledge_sources as s')
      .where('s.kbId', '=', id)
      .where('s.attachmentId', 'is not', null)
      .where(({ exists, not, selectFrom }) =>
        not(
          exists(selectFrom('attachment_links as l').select('l.id').where('l.ownerKind', '=', 'source').whereRef('l.ownerId', '=', 's.id')),
        ),
      )
      .select('s.id'),
  );
  if (wanted.length === 0) return;
  await change(
    tx.em,
    query
      .insertInto('attachment_links')
      .columns(['id', 'attachmentId', 'organizationId', 'workspaceId', 'ownerKind', 'ownerId', 'createdAt'])
      .expression(({ selectFrom }) =>
        selectFrom(withNewIds(wanted.map((source) => source.id)))
          .innerJoin('knowledge_sources as s', 's.id', 'v.oldId')
          .select(['v.id', 's.attachmentId', 's.organizationId', 's.workspaceId'])
          .select([sql<'source'>`'source'`.as('ownerKind'), 's.id as ownerId', sql<string>`now()`.as('createdAt')]),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
}
