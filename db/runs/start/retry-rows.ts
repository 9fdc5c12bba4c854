import { sql } from 'kysely';
import type { RevisionLimits } from '../../agents/revisions/revision-limits.ts';
import { anyId } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { AttachmentPart } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { liveStatuses, queued } from '../live.ts';

/** A run that has ended; its conversation is locked. */
export type EndedRun = NonNullable<Awaited<ReturnType<typeof readEnded>>>;

const ended = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs as r')
    .innerJoin('agent_revisions as v', 'v.id', 'r.agentRevisionId')
    .innerJoin('agents as a', 'a.id', 'r.agentId')
    .where('r.id', '=', runId)
    .where('r.deletedAt', 'is', null)
    .select([
      'r.id',
      'r.organizationId',
      'r.workspaceId',
      'r.agentId',
      'r.agentRevisionId',
      'r.conversationId',
      'r.parentRunId',
      'r.status',
    ])
    .select(['r.turnNo', 'r.sessionKey', 'r.subjectKind', 'r.subjectId', 'r.input', 'r.metadata', 'r.rootEventId', 'r.eventDepth'])
    .select(['r.untrusted', 'r.maxEffect', 'r.hops', 'r.limits', 'r.bindingId'])
    .select(sql<Partial<RevisionLimits>>`v.document -> 'limits'`.as('revisionLimits'))
    .select(sql<boolean>`a.deleted_at is null`.as('hasAgent'))
    // Null when the persona no longer exists or is inactive.
    .select(({ selectFrom }) =>
      selectFrom('personas as p')
        .whereRef('p.agentId', '=', 'r.agentId')
        .whereRef('p.slug', '=', 'r.personaSlug')
        .where('p.isActive', '=', sql.lit(true))
        .where('p.deletedAt', 'is', null)
        .select('p.slug')
        .as('personaSlug'),
    ),
);

/** Returns a run as a retry needs it, or null when it does not exist. */
export function readEnded(tx: TenantTransaction, runId: string) {
  return row(tx.em, ended({ runId }));
}

interface Turn {
  readonly runId: string;
  readonly conversationId: string;
  readonly turnNo: number | null;
}

const laterRun = prepared(({ runId, conversationId, turnNo }: ParametersOf<Turn>) =>
  query
    .selectFrom('runs as o')
    .select('o.id')
    .where('o.conversationId', '=', conversationId)
    .where('o.id', '<>', runId)
    .where('o.deletedAt', 'is', null)
    .where(({ and, eb, exists, or, selectFrom }) =>
      or([
        and([
          eb('o.status', 'in', liveStatuses),
          or([eb('o.status', '<>', queued), eb('o.activatedAt', 'is not', null), eb('o.queueNo', 'is not', null)]),
        ]),
        and([
          sql<boolean>`coalesce(o.turn_no > ${turnNo}::int, o.id > ${runId}::uuid)`,
          exists(selectFrom('messages as m').select('m.id').whereRef('m.runId', '=', 'o.id').where('m.state', '=', sql.lit('committed'))),
        ]),
      ]),
    )
    .limit(sql.lit(1)),
);

/** Returns whether anything came after the run's turn: a live run, or a run with a committed message. A delayed run has no turn yet and does not count. */
export async function hasMovedOn(tx: TenantTransaction, { id: runId, conversationId, turnNo }: EndedRun): Promise<boolean> {
  return (await row(tx.em, laterRun({ runId, conversationId, turnNo }))) !== null;
}

const usable = prepared(({ ids }: ParametersOf<{ readonly ids: readonly string[] }>) =>
  query.selectFrom('attachments as a').select('a.id').where('a.id', '=', anyId(ids)).where('a.state', '<>', sql.lit('rejected')),
);

/** Returns the ids of files that are still usable. Files that the run had to omit are omitted again. */
export async function usableFiles(tx: TenantTransaction, parts: readonly AttachmentPart[]): Promise<string[]> {
  if (parts.length === 0) return [];
  const asked = parts.map((part) => part.attachment_id);
  const found = new Set((await rows(tx.em, usable({ ids: asked }))).map(({ id }) => id));
  return asked.filter((id) => found.has(id));
}

const discard = prepared(({ runId, conversationId }: ParametersOf<Omit<Turn, 'turnNo'>>) =>
  query
    .updateTable('messages')
    .from('runs as o')
    .set({ state: sql.lit('discarded') })
    .where('o.id', '=', runId)
    .where('o.conversationId', '=', conversationId)
    .whereRef('messages.runId', '=', 'o.id')
    .whereRef('messages.turn', '=', 'o.turnNo')
    .where('messages.state', '=', sql.lit('committed')),
);

/** Discards the committed messages of a run's turn, in its own conversation. */
export async function discardTurn(
  tx: TenantTransaction,
  { runId, conversationId }: { readonly runId: string; readonly conversationId: string },
): Promise<void> {
  await change(tx.em, discard({ runId, conversationId }));
}
