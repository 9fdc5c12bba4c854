import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, queueStatement, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Links attachments to a skill: whoever sees the skill sees them, and they stay as long as the skill, for all its versions. */
export async function linkSkillFiles(
  tx: Pick<TenantTransaction, 'em'>,
  skill: { readonly id: string; readonly organizationId: string; readonly workspaceId: string | null },
  attachmentIds: readonly string[],
): Promise<void> {
  if (attachmentIds.length === 0) return;
  const of = { organizationId: skill.organizationId, workspaceId: skill.workspaceId, ownerKind: 'skill', ownerId: skill.id } as const;
  const links = attachmentIds.map((attachmentId) => ({ id: newId(), attachmentId, ...of, createdAt: sql<string>`now()` }));
  await queueStatement(tx.em, query.updateTable('attachments').set({ expiresAt: null }).where('id', 'in', attachmentIds));
  await change(
    tx.em,
    query
      .insertInto('attachment_links')
      .values(links)
      .onConflict((conflict) => conflict.doNothing()),
  );
}

/** Unlinks the files of a skill that is deleted: the next sweep deletes those that nothing else references. */
export async function dropSkillFiles(tx: Pick<TenantTransaction, 'em'>, skillId: string): Promise<void> {
  await change(
    tx.em,
    query
      .with('unlinked', (of) =>
        of.deleteFrom('attachment_links').where('ownerKind', '=', 'skill').where('ownerId', '=', skillId).returning(['id', 'attachmentId']),
      )
      .updateTable('attachments')
      .set({ expiresAt: sql<string>`now()` })
      .where('attachments.id', 'in', ({ selectFrom }) => selectFrom('unlinked').select('unlinked.attachmentId'))
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('attachment_links as l')
              .select('l.id')
              .whereRef('l.attachmentId', '=', 'attachments.id')
              .where('l.id', 'not in', selectFrom('unlinked').select('unlinked.id')),
          ),
        ),
      ),
  );
}

/** Lets a run read a file of a skill that it has loaded: the file stays as long as one of the two. Returns false when the file is deleted or not usable. */
export async function lendSkillFile(tx: Pick<TenantTransaction, 'em'>, runId: string, attachmentId: string): Promise<boolean> {
  await queueStatement(
    tx.em,
    query
      .insertInto('attachment_links')
      .columns(['id', 'attachmentId', 'organizationId', 'workspaceId', 'ownerKind', 'ownerId', 'conversationId', 'createdAt'])
      .expression(({ selectFrom }) =>
        selectFrom('runs as r')
          .innerJoin('attachments as a', 'a.organizationId', 'r.organizationId')
          .select([sql<string>`${newId()}::uuid`.as('id'), 'a.id as attachmentId', 'r.organizationId', 'r.workspaceId'])
          .select([sql<'run'>`'run'`.as('ownerKind'), 'r.id as ownerId', 'r.conversationId', sql<string>`now()`.as('createdAt')])
          .where('r.id', '=', runId)
          .where('a.id', '=', attachmentId)
          .where('a.state', '=', 'ready'),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
  const link = query
    .selectFrom('attachment_links as l')
    .select('l.id')
    .where('l.attachmentId', '=', attachmentId)
    .where('l.ownerKind', '=', 'run')
    .where('l.ownerId', '=', runId);
  return (await row(tx.em, link)) !== null;
}
