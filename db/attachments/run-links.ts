import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { recordset, recordsetText } from '../recordset.ts';
import { change, queueStatement, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** The run that an attachment is linked to, with its tenant and conversation. */
export interface AttachingRun {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
}

/** Locks attachments of an organization; returns how many of them exist. */
export async function lockAttachments(tx: TenantTransaction, organizationId: string, ids: readonly string[]): Promise<number> {
  const held = await rows(
    tx.em,
    query
      .selectFrom('attachments as a')
      .select('a.id')
      .where(sql<boolean>`a.id = any(${ids}::uuid[])`)
      .where('a.organizationId', '=', organizationId)
      .orderBy('a.id')
      .forNoKeyUpdate(),
  );
  return held.length;
}

interface NewLink {
  readonly id: string;
  readonly attachmentId: string;
}

interface NewLinks extends Omit<AttachingRun, 'id'> {
  readonly runId: string;
  /** Rows of `NewLink` as JSON. */
  readonly links: string;
}

/** Links as rows of their table. */
function linksTo({ runId, organizationId, workspaceId, conversationId, links }: ParametersOf<NewLinks>) {
  return query
    .selectFrom(recordset<NewLink>(links, { id: 'uuid', attachmentId: 'uuid' }).as('l'))
    .select(['l.id', 'l.attachmentId', sql<string>`${organizationId}::uuid`.as('organizationId')])
    .select([
      sql<string>`${workspaceId}::uuid`.as('workspaceId'),
      sql.lit('run').as('ownerKind'),
      sql<string>`${runId}::uuid`.as('ownerId'),
    ])
    .select([sql<string>`${conversationId}::uuid`.as('conversationId'), sql<string>`now()`.as('createdAt')]);
}

const linkColumns = ['id', 'attachmentId', 'organizationId', 'workspaceId', 'ownerKind', 'ownerId', 'conversationId', 'createdAt'] as const;

const link = prepared(({ ids, ...links }: ParametersOf<NewLinks & { readonly ids: readonly string[] }>) =>
  query
    .with('held', (of) =>
      of
        .updateTable('attachments')
        .set({ expiresAt: null })
        .where(sql<boolean>`id = any (${ids}::uuid[])`),
    )
    .insertInto('attachment_links')
    .columns([...linkColumns])
    .expression(linksTo(links))
    .onConflict((conflict) => conflict.doNothing()),
);

/** Links locked attachments, each named once, to a run; existing links are no error. The attachments no longer expire. Goes with the next statement. */
export async function linkLocked(tx: TenantTransaction, run: AttachingRun, ids: readonly string[]): Promise<void> {
  await queueStatement(tx.em, link({ ids, ...valuesOf(run, ids) }));
}

const share = prepared((links: ParametersOf<NewLinks>) =>
  query
    .insertInto('attachment_links')
    .columns([...linkColumns])
    .expression(
      linksTo(links).innerJoin('attachments as a', (join) =>
        join.onRef('a.id', '=', 'l.attachmentId').on('a.organizationId', '=', links.organizationId),
      ),
    )
    .onConflict((conflict) => conflict.doNothing()),
);

/** Lets a run read files of another, which stay as long as one of the two. Existing links and deleted files are left as they are. */
export async function shareWithRun(tx: TenantTransaction, run: AttachingRun, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await change(tx.em, share(valuesOf(run, ids)));
}

function valuesOf({ id: runId, organizationId, workspaceId, conversationId }: AttachingRun, ids: readonly string[]): NewLinks {
  const links = ids.map((attachmentId): NewLink => ({ id: newId(), attachmentId }));
  return { runId, organizationId, workspaceId, conversationId, links: recordsetText(links) };
}
