import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonb, jsonText, recordset, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { CancelPolicy } from '../read/run-view.ts';
import type { CancelFilter, MatchWorkspace } from './cancellable-runs.ts';

interface NewCancels {
  readonly drafts: JsonText<readonly ReturnType<typeof listedDraft>[]>;
  readonly filter: JsonText<CancelFilter>;
  readonly policy: CancelPolicy;
  readonly reason: string | null;
}

function listedDraft({ id, organizationId, workspaceId, askedAt }: MatchWorkspace & { readonly id: string }) {
  return { id, organization_id: organizationId, workspace_id: workspaceId, asked_at: askedAt };
}

const newCancels = prepared(({ drafts, filter, policy, reason }: ParametersOf<NewCancels>) => {
  const listed = recordset(drafts, 'd', { id: 'uuid', organization_id: 'uuid', workspace_id: 'uuid', asked_at: 'timestamptz' });
  return insertFrom('bulk_cancels', query.selectFrom(listed), ({ ref }) => ({
    id: ref('d.id'),
    organizationId: ref('d.organization_id'),
    workspaceId: ref('d.workspace_id'),
    filter: jsonb(filter),
    policy,
    reason,
    cancelled: sql.lit(0),
    createdAt: ref('d.asked_at'),
  }));
});

/** Writes bulk cancels with the same filter and policy, one per workspace. */
export async function insertBulkCancels(
  tx: Pick<TenantTransaction, 'em'>,
  drafts: readonly (MatchWorkspace & { readonly id: string })[],
  { filter, policy, reason }: { readonly filter: CancelFilter; readonly policy: CancelPolicy; readonly reason: string | null },
): Promise<void> {
  await change(tx.em, newCancels({ drafts: jsonText(drafts.map(listedDraft)), filter: jsonText(filter), policy, reason }));
}

/** Adds the result of one round of a bulk cancel; a round that cancelled no run finishes it. */
export async function countCancelled(tx: TenantTransaction, id: string, count: number): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('bulk_cancels')
      .set((eb) => ({ cancelled: eb('cancelled', '+', count), finishedAt: count === 0 ? now : null }))
      .where('id', '=', id),
  );
}
