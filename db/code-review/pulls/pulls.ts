import { type Expression, type NotNull, sql } from 'kysely';
import type { PullRequestInput } from '../../../workflows/contracts/review/pull-requests.ts';
import { liveRunStatuses } from '../../../workflows/contracts/runs/runs.ts';
import type { Condition } from '../../condition.ts';
import { literals, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { recordset, recordsetText } from '../../recordset.ts';
import { change, queueStatement, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { usableIn } from '../../usable-in.ts';
import type { ReviewFacts } from './facts.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/**
 * The part of a binding that its pull requests need. `isReviewed`: it exists and is active, its installation gives access to the repository, and its workspace
 * and organization are active.
 */
export type BindingState = NonNullable<Awaited<ReturnType<typeof readBindingState>>>;

/**
 * A pull request, locked. `heardAt`: the host's time of the newest applied event; null: there was none. `dueInMs`: milliseconds until the requested review
 * begins, by the database's clock, or until the reactions to a closed one are read; null: nothing is due.
 */
export type PullState = Awaited<ReturnType<typeof lockPull>>;

/** An event for a pull request that has not been applied. */
export type QueuedEvent = Awaited<ReturnType<typeof queuedEvents>>[number];

/** A run of a pull request that has not ended. `text`: the text of the request. */
export type LiveReview = Awaited<ReturnType<typeof liveReviews>>[number];

const bindingState = prepared(({ bindingId }: ParametersOf<{ readonly bindingId: string }>) =>
  query
    .selectFrom('repo_bindings as b')
    .innerJoin('workspaces as w', 'w.id', 'b.workspaceId')
    .innerJoin('organizations as o', 'o.id', 'b.organizationId')
    .select(['b.id', 'b.organizationId', 'b.workspaceId', 'b.repoFullName', 'b.reviewerAgentId', 'b.editorAgentId', 'b.enabledEvents'])
    .select(['b.reviewConfig', 'b.editorConfig', 'b.installationState'])
    .select(({ and, eb, ref }) =>
      and([
        eb('b.deletedAt', 'is', null),
        ref('b.isActive'),
        eb('b.installationState', '=', 'ok'),
        ref('w.isActive'),
        eb('o.status', '=', 'active'),
      ])
        .$castTo<boolean>()
        .as('isReviewed'),
    )
    .where('b.id', '=', bindingId),
);

/** Returns a binding by its id, even if it is deleted; null when there is none in the transaction's tenant. */
export function readBindingState(tx: Tx, bindingId: string) {
  return row(tx.em, bindingState({ bindingId }));
}

const lockedPull = prepared(({ bindingId, pullNumber }: ParametersOf<PullRequestInput>) =>
  query
    .selectFrom('review_pull_requests as p')
    .select(['p.id', 'p.bindingId', 'p.pullNumber', 'p.state', 'p.isDraft', 'p.isFork', 'p.paused', 'p.isBlockDismissed', 'p.heardAt'])
    .select(['p.baseRef', 'p.headSha', 'p.lastHeadSha', 'p.isDueFull', 'p.round'])
    .select(({ ref }) => msUntil(ref('p.dueAt')).as('dueInMs'))
    .where('p.bindingId', '=', bindingId)
    .where('p.pullNumber', '=', pullNumber)
    .forUpdate(),
);

function msUntil(time: Expression<string | null>) {
  return sql<number | null>`(extract(epoch from ${time} - clock_timestamp()) * 1000)::float8`;
}

/** Locks a pull request; creates its row on the first event. */
export async function lockPull(tx: Tx, { id: bindingId, organizationId, workspaceId }: Place, pullNumber: number) {
  const made = { id: newId(), organizationId, workspaceId, bindingId, pullNumber };
  await queueStatement(
    tx.em,
    query
      .insertInto('review_pull_requests')
      .values(made)
      .onConflict((conflict) => conflict.doNothing()),
  );
  const locked = await row(tx.em, lockedPull({ bindingId, pullNumber }));
  if (!locked) throw new Error('a pull request that was just written is gone');
  return { ...locked, heardAt: locked.heardAt === null ? null : new Date(locked.heardAt) };
}

type Place = Pick<BindingState, 'id' | 'organizationId' | 'workspaceId'>;

/** When the requested review begins. `debounced`: after `seconds` without a push, at the latest five minutes after the first push. */
export type DueChange = { readonly kind: 'keep' | 'none' | 'now' } | { readonly kind: 'debounced'; readonly seconds: number };

/** The changes that events make to a pull request. */
export type PullChange = Pick<
  PullState,
  'state' | 'isDraft' | 'isFork' | 'paused' | 'isBlockDismissed' | 'heardAt' | 'baseRef' | 'headSha' | 'isDueFull'
> & {
  readonly due: DueChange;
};

const maxWaitSeconds = 300;

interface StoredPull extends Omit<PullChange, 'due'> {
  readonly pullId: string;
  readonly due: DueChange['kind'];
  readonly seconds: number;
}

const storing = prepared(({ pullId, due, seconds, ...kept }: ParametersOf<StoredPull>) =>
  query
    .updateTable('review_pull_requests')
    .set(({ ref }) => {
      const since = sql<string>`coalesce(${ref('dueSince')}, now())`;
      const latest = sql`${since} + make_interval(secs => ${sql.lit(maxWaitSeconds)})`;
      return {
        ...kept,
        closedAt: sql<string | null>`case when ${kept.state} = 'closed' then coalesce(${ref('closedAt')}, now()) end`,
        dueSince: sql<string | null>`case ${due} when 'none' then null when 'keep' then ${ref('dueSince')} else ${since} end`,
        dueAt: sql<string | null>`case ${due} when 'none' then null when 'keep' then ${ref('dueAt')} when 'now' then now()
          else least(now() + make_interval(secs => ${seconds}), ${latest}) end`,
        updatedAt: now,
      };
    })
    .where('id', '=', pullId)
    .returning(({ ref }) => msUntil(ref('dueAt')).as('dueInMs')),
);

/** Stores the changes of a locked pull request; returns the milliseconds until something of it is due. */
export async function storePull(tx: Tx, pullId: string, { due, ...changed }: PullChange): Promise<number | null> {
  const { state, isDraft, isFork, paused, isBlockDismissed, heardAt, baseRef, headSha, isDueFull } = changed;
  const kept = { state, isDraft, isFork, paused, isBlockDismissed, heardAt, baseRef, headSha, isDueFull };
  const seconds = due.kind === 'debounced' ? due.seconds : 0;
  const stored = await row(tx.em, storing({ ...kept, pullId, due: due.kind, seconds }));
  return stored?.dueInMs ?? null;
}

/** Selects the queued events of a binding, in order. */
export function selectQueued(bindingId: Expression<string>) {
  return (
    query
      .selectFrom('review_events as e')
      .select(['e.id', 'e.event', 'e.action', 'e.facts'])
      .where('e.bindingId', '=', bindingId)
      .where('e.state', '=', sql.lit('queued'))
      .orderBy('e.id')
      // Only events with an action are handed over.
      .$narrowType<{ action: NotNull }>()
  );
}

const queuedOfPull = prepared(({ bindingId, pullNumber, limit }: ParametersOf<PullRequestInput & { readonly limit: number }>) =>
  selectQueued(bindingId).where('e.pullNumber', '=', pullNumber).limit(limit),
);

/** Returns at most `limit` queued events of a pull request, in order. */
export function queuedEvents(tx: Tx, { bindingId, pullNumber }: PullRequestInput, limit: number) {
  return rows(tx.em, queuedOfPull({ bindingId, pullNumber, limit }));
}

/** The outcome of an event. */
interface SettledEvent {
  readonly id: string;
  readonly state: 'applied' | 'ignored';
  readonly reason: string | null;
}

const settling = prepared(({ settled }: ParametersOf<{ readonly settled: string }>) =>
  query
    .updateTable('review_events')
    .from(recordset<SettledEvent>(settled, { id: 'uuid', state: 'text', reason: 'text' }).as('s'))
    .set(({ ref }) => ({
      state: ref('s.state'),
      reason: ref('s.reason'),
      facts: sql<ReviewFacts>`${ref('review_events.facts')} #- '{comment,command,argument}'`,
    }))
    .whereRef('review_events.id', '=', 's.id'),
);

/** Stores the outcome of events. What people wrote is removed from their facts. */
export async function settleEvents(tx: Tx, settled: readonly SettledEvent[]): Promise<void> {
  if (settled.length > 0) await change(tx.em, settling({ settled: recordsetText(settled) }));
}

const liveOfPull = prepared(({ pullId }: ParametersOf<{ readonly pullId: string }>) =>
  query
    .selectFrom('runs as r')
    .select(['r.id', 'r.status', 'r.reviewHeadSha as headSha', 'r.review as request'])
    .select(({ ref }) => sql<string | null>`${ref('r.input')} ->> 'text'`.as('text'))
    .where('r.reviewPullRequestId', '=', pullId)
    .where('r.status', 'in', literals(...liveRunStatuses))
    .orderBy('r.reviewRound')
    // A run of a pull request always has a request.
    .$narrowType<{ request: NotNull }>(),
);

/** Returns the runs of a pull request that have not ended, oldest first. */
export function liveReviews(tx: Tx, pullId: string) {
  return rows(tx.em, liveOfPull({ pullId }));
}

const takingRound = prepared(({ pullId, answersDue }: ParametersOf<{ readonly pullId: string; readonly answersDue: true | undefined }>) => {
  const taking = query
    .updateTable('review_pull_requests')
    .set(({ eb }) => ({ round: eb('round', '+', 1), updatedAt: now }))
    .where('id', '=', pullId)
    .returning('round');
  if (!answersDue) return taking;
  // For a closed pull request, something else is due.
  return taking.set(({ ref }) => ({
    dueAt: sql<string | null>`case when ${ref('state')} = 'closed' then ${ref('dueAt')} end`,
    dueSince: null,
    isDueFull: false,
  }));
});

/** Takes the next round of a locked pull request. `answersDue`: its run is the review that was due. */
export async function takeRound(tx: Tx, pullId: string, answersDue: boolean): Promise<number> {
  const taken = await row(tx.em, takingRound({ pullId, answersDue: answersDue || undefined }));
  if (!taken) throw new Error('a locked pull request is gone');
  return taken.round;
}

const revisionInForce = prepared(
  ({ playbookId, usable }: ParametersOf<{ readonly playbookId: string | null; readonly usable: Condition }>) =>
    query
      .selectFrom('review_playbooks as p')
      .select('p.activeRevisionId')
      .where('p.deletedAt', 'is', null)
      .where('p.isActive', '=', sql.lit(true))
      .where('p.activeRevisionId', 'is not', null)
      .where(usable)
      .where(({ eb, or, ref }) => or([eb('p.id', '=', playbookId), ref('p.isDefault')]))
      .orderBy(
        ({ eb }) => eb('p.id', '=', playbookId),
        (order) => order.desc().nullsLast(),
      )
      .orderBy(({ ref }) => sql`array_position(array['workspace', 'organization', 'platform'], ${ref('p.scope')}::text)`)
      .limit(1)
      .$narrowType<{ activeRevisionId: NotNull }>(),
);

/**
 * Returns the revision by which a binding's pull requests are reviewed now: of the playbook that it names, otherwise of the default of workspace, organization
 * or platform.
 */
export async function currentRevision(tx: Tx, { reviewConfig, ...place }: Omit<BindingState, 'id'>): Promise<string> {
  const found = await row(tx.em, revisionInForce({ playbookId: reviewConfig.playbook_id, usable: usableIn(place, 'p') }));
  if (!found) throw new Error('the deployment has no default playbook');
  return found.activeRevisionId;
}

const storingHead = prepared(({ runId, headSha }: ParametersOf<{ readonly runId: string; readonly headSha: string }>) =>
  query.updateTable('runs').set({ reviewHeadSha: headSha, updatedAt: now }).where('id', '=', runId),
);

/** Stores the head that a run reviews. */
export async function storeReviewHead(tx: Pick<TenantTransaction, 'em'>, runId: string, headSha: string): Promise<void> {
  await change(tx.em, storingHead({ runId, headSha }));
}
