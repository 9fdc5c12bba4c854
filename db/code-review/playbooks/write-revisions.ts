import { sql } from 'kysely';
import type { ReviewTemplates } from '../../../workflows/contracts/review/code-review.ts';
import { now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { query } from '../../query.ts';
import { change, queueStatement, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ReviewPlaybook } from './review-playbook.entity.ts';

/** A revision to be stored. */
export interface NewPlaybookRevision {
  readonly templates: ReviewTemplates;
  readonly sha256: string;
  readonly note: string | null;
  readonly createdByUserId: string | null;
}

/** Adds the next revision of a locked playbook; returns its id. */
export async function insertPlaybookRevision(
  tx: Pick<TenantTransaction, 'em'>,
  playbook: { readonly id: string; readonly organizationId: string | null; readonly workspaceId: string | null },
  { templates, sha256, note, createdByUserId }: NewPlaybookRevision,
): Promise<string> {
  const id = newId();
  await row(
    tx.em,
    insertFrom(
      'review_playbook_revisions',
      query.selectFrom('review_playbook_revisions as r').where('r.playbookId', '=', playbook.id),
      ({ fn, lit, eb }) => ({
        id: sql<string>`${id}::uuid`,
        playbookId: sql<string>`${playbook.id}::uuid`,
        organizationId: sql<string | null>`${playbook.organizationId}::uuid`,
        workspaceId: sql<string | null>`${playbook.workspaceId}::uuid`,
        revisionNumber: eb(fn.coalesce(fn.max('r.revisionNumber'), lit(0)), '+', 1),
        templates: sql<ReviewTemplates>`${JSON.stringify(templates)}::jsonb`,
        sha256: sql<string>`${sha256}::text`,
        note: sql<string | null>`${note}::text`,
        createdByUserId: sql<string | null>`${createdByUserId}::uuid`,
      }),
    ).returning('id'),
  );
  return id;
}

/** Clears the default flag of the playbook of the same owner that has it. Two that become the default at once take turns, until their transactions end. */
export async function dropDefault(
  tx: Pick<TenantTransaction, 'em'>,
  { id, scope, organizationId, workspaceId }: Pick<ReviewPlaybook, 'id' | 'scope' | 'organizationId' | 'workspaceId'>,
): Promise<void> {
  const owner = [scope, organizationId, workspaceId].join(':');
  const lock = sql`pg_advisory_xact_lock(hashtextextended('review_default:' || ${owner}, 0))`;
  await queueStatement(tx.em, query.selectNoFrom(lock.as('locked')));
  await change(
    tx.em,
    query
      .updateTable('review_playbooks')
      .set(({ eb }) => ({ isDefault: false, version: eb('version', '+', 1), updatedAt: now }))
      .where('isDefault', '=', sql.lit(true))
      .where('deletedAt', 'is', null)
      .where('id', '<>', id)
      .where('scope', '=', scope)
      .where('organizationId', 'is not distinct from', organizationId)
      .where('workspaceId', 'is not distinct from', workspaceId),
  );
}
