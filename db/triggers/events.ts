import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { type Selectable, sql, type Expression, type RawBuilder } from 'kysely';
import { eventFanOut } from '../../workflows/contracts/triggers/events.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { anyOf } from '../expressions.ts';
import { followedTime } from '../database-clock.ts';
import { newId } from '../ids.ts';
import { outboxRow } from '../outbox.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { record, recordText } from '../recordset.ts';
import { change, queueStatement } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { EventSource } from './event.entity.ts';

/** Something that has happened in a workspace. */
export interface NewEvent {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly eventKind: string;
  readonly source: EventSource;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly occurredAt: Date;
  readonly id?: string;
  readonly subject?: string | null;
  readonly dedupeKey?: string | null;
  /** The run that caused it, where it lies in the same workspace; absent: none did. */
  readonly causeRunId?: string | null;
  /** Its content comes from outside; absent: as its cause says. */
  readonly untrusted?: boolean;
  readonly maxEffect?: 'read' | 'write';
  readonly hops?: number;
}

/**
 * Queues an event in the transaction of its cause and returns its id; the insert goes with the next statement. An event that a run caused takes over the run's
 * root, depth, trust and effect. Where an active trigger matches its kind, the start of its fan-out is written with it; otherwise nothing is left to do. Runs
 * of evaluations start no triggers.
 */
export async function emitEvent(tx: TenantTransaction, event: NewEvent): Promise<string> {
  const id = event.id ?? newId();
  await queueEvent(tx, { ...event, id });
  return id;
}

/** A run as its events name it. */
export interface RunOfEvent {
  readonly id: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly agent_id: string;
  readonly root_run_id: string;
  readonly parent_run_id: string | null;
  readonly trigger_id: string | null;
}

/** Emits the outcome of a run as an event, like `emitEvent`. Does nothing for runs of an evaluation and runs below them. */
export async function emitRunEvent(
  tx: TenantTransaction,
  run: RunOfEvent,
  status: 'succeeded' | 'failed' | 'cancelled' | 'waiting',
): Promise<void> {
  const { id: runId, agent_id, root_run_id, parent_run_id, trigger_id } = run;
  const event: NewEvent = {
    organizationId: run.organization_id,
    workspaceId: run.workspace_id,
    eventKind: `run.${status}`,
    source: 'platform',
    payload: { run_id: runId, agent_id, root_run_id, parent_run_id, trigger_id },
    occurredAt: followedTime(tx.em),
    causeRunId: runId,
  };
  await queueEvent(tx, { ...event, id: newId() }, { skipsEvaluations: true });
}

/** The columns of an event that are given; its cause may raise what they say of trust, effect and hops. */
const givenTypes = {
  id: 'uuid',
  organizationId: 'uuid',
  workspaceId: 'uuid',
  eventKind: 'text',
  source: 'text',
  subject: 'text',
  payload: 'jsonb',
  dedupeKey: 'text',
  causeRunId: 'uuid',
  untrusted: 'boolean',
  maxEffect: 'text',
  hops: 'smallint',
  occurredAt: 'timestamptz',
} as const;
/** The columns of the message that starts its fan-out. */
const startTypes = {
  id: 'uuid',
  organizationId: 'uuid',
  workspaceId: 'uuid',
  kind: 'text',
  dedupeKey: 'text',
  target: 'text',
  payload: 'jsonb',
} as const;
type GivenColumn = keyof typeof givenTypes;
type StartColumn = keyof typeof startTypes;
const givenColumns = Object.keys(givenTypes) as GivenColumn[]; // its own keys
const startColumns = Object.keys(startTypes) as StartColumn[];

interface Emission {
  readonly event: string;
  readonly start: string;
  /** Writes nothing for an event that a run of an evaluation has caused. */
  readonly skipsEvaluations: true | undefined;
}

const emit = prepared(({ event, start, skipsEvaluations }: ParametersOf<Emission>) =>
  query
    .with('given', (of) =>
      of
        .selectFrom(record<Pick<Selectable<Tables['events']>, GivenColumn>>(event, givenTypes).as('g'))
        .select(givenColumns.map((name) => `g.${name}` as const)),
    )
    .with('cause', (of) =>
      of
        .selectFrom('runs as r')
        .innerJoin('given as g', (join) => join.onRef('g.causeRunId', '=', 'r.id').onRef('g.workspaceId', '=', 'r.workspaceId'))
        .select(['r.id', 'r.rootEventId', 'r.eventDepth', 'r.untrusted', 'r.maxEffect', 'r.hops'])
        .select(({ exists, selectFrom }) =>
          exists(
            selectFrom('runs as o')
              .whereRef('o.id', '=', 'r.rootRunId')
              .where(({ eb, or }) => or([eb('o.source', '=', 'evaluation'), eb('o.evaluationRunId', 'is not', null)])),
          ).as('isEvaluation'),
        ),
    )
    .with('event', (of) =>
      of
        .insertInto('events')
        .columns([...givenColumns, 'depth', 'rootEventId', 'fanOut'])
        .expression(({ selectFrom }) => {
          const judged = selectFrom('given as g')
            .leftJoin('cause as c', (join) => join.onTrue())
            .select(['g.id', 'g.organizationId', 'g.workspaceId', 'g.eventKind', 'g.source', 'g.subject', 'g.payload', 'g.dedupeKey'])
            .select([
              'c.id as causeRunId',
              sql<boolean>`g.untrusted or coalesce(c.untrusted, false)`.as('untrusted'),
              sql<string>`case when c.max_effect = 'read' then 'read' else g.max_effect end`.as('maxEffect'),
              sql<number>`greatest(g.hops, coalesce(c.hops, 0))`.as('hops'),
              'g.occurredAt',
              sql<number>`coalesce(c.event_depth, 0)`.as('depth'),
              sql<string>`coalesce(c.root_event_id, g.id)`.as('rootEventId'),
            ])
            .select(({ exists, ref, selectFrom: within }) => {
              const meets = within('event_triggers as t')
                .whereRef('t.workspaceId', '=', 'g.workspaceId')
                .where('t.isActive', '=', sql.lit(true))
                .where('t.deletedAt', 'is', null)
                .where((of) => meetsGlob(ref('g.eventKind'), of.ref('t.eventKind')));
              return sql<string>`case when not coalesce(c.is_evaluation, false) and ${exists(meets)} then 'pending' else 'done' end`.as(
                'fanOut',
              );
            });
          return skipsEvaluations ? judged.where(sql<boolean>`not coalesce(c.is_evaluation, false)`) : judged;
        })
        .returning('fanOut'),
    )
    .insertInto('outbox')
    .columns([...startColumns, 'notBefore'])
    .expression(({ selectFrom }) =>
      selectFrom('event as e')
        .innerJoin(record<Pick<Selectable<Tables['outbox']>, StartColumn>>(start, startTypes).as('o'), (join) => join.onTrue())
        .where('e.fanOut', '=', 'pending')
        .select(startColumns.map((name) => `o.${name}` as const))
        .select(sql<string>`now()`.as('notBefore')),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('id'),
);

function queueEvent(
  tx: TenantTransaction,
  event: NewEvent & { readonly id: string },
  { skipsEvaluations }: Partial<Pick<Emission, 'skipsEvaluations'>> = {},
): Promise<void> {
  return queueStatement(tx.em, emit({ ...emissionOf(tx, event), skipsEvaluations }), [], (sent) => {
    tx.outgoing.outboxIds.push(...sent.map((message) => message.id));
  });
}

function emissionOf(tx: TenantTransaction, event: NewEvent & { readonly id: string }): Pick<Emission, 'event' | 'start'> {
  const { id, organizationId, workspaceId } = event;
  const given = {
    id,
    organizationId,
    workspaceId,
    eventKind: event.eventKind,
    source: event.source,
    subject: event.subject ?? null,
    payload: event.payload,
    dedupeKey: event.dedupeKey ?? null,
    causeRunId: event.causeRunId ?? null,
    untrusted: event.untrusted ?? false,
    maxEffect: event.maxEffect ?? 'write',
    hops: event.hops ?? 0,
    occurredAt: event.occurredAt,
  };
  const workflowId = workflowIds.event(id);
  const start = outboxRow(tx, {
    dedupeKey: workflowId,
    message: {
      kind: 'workflow.start',
      workflowType: eventFanOut,
      workflowId,
      taskQueue: taskQueues.runs,
      args: [{ eventId: id }],
      organizationId,
      workspaceId,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 3,
      searchAttributes: {},
    },
  });
  return { event: recordText(given), start: recordText(start) };
}

/** Deletes at most `limit` events older than 90 days, with their matches; returns how many. Sweeper's pool. */
export function eraseEventsByAge(em: SqlEntityManager, limit: number): Promise<number> {
  const old = query
    .selectFrom('events as x')
    .select(sql`x.ctid`.as('ctid'))
    .where('x.createdAt', '<', sql<string>`now() - interval '90 days'`)
    .limit(limit);
  return change(em, query.deleteFrom('events').where(sql<boolean>`ctid = ${anyOf(old)}`));
}

/** Returns whether a kind matches a glob (`domain/triggers/kinds.ts` defines its form). `*` stands for one segment, `**` at the end for one or more. */
export function meetsGlob(kind: Expression<string>, glob: Expression<string>): RawBuilder<boolean> {
  const pattern = sql`'^' || replace(replace(replace(${glob}, '.', '\\.'), '**', '.+'), '*', '[^.]+') || '$'`;
  return sql<boolean>`(${glob} = ${kind} or (strpos(${glob}, '*') > 0 and ${kind} ~ (${pattern})))`;
}
