import { followedTime } from '../database-clock.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { eventFanOut } from '../../workflows/contracts/triggers/events.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';
import { meetsGlobSql } from './kind-glob.sql.ts';
import { newId } from '../ids.ts';
import { outboxRow } from '../outbox.ts';
import { change, queueStatement } from '../sql.ts';
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
  await queueStatement<{ id: string }>(tx.em, emitSql(''), parametersOf(tx, id, event), (sent) => {
    tx.outgoing.outboxIds.push(...sent.map((message) => message.id));
  });
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
  const sql = emitSql('where not coalesce(c.is_evaluation, false)');
  await queueStatement<{ id: string }>(tx.em, sql, parametersOf(tx, newId(), event), (sent) => {
    tx.outgoing.outboxIds.push(...sent.map((message) => message.id));
  });
}

const emitSql = (condition: string) => `
  with given as (select * from jsonb_to_record(?::jsonb) as g(id uuid, organization_id uuid, workspace_id uuid, event_kind text, source text, subject text, payload jsonb,
         dedupe_key text, cause_run_id uuid, untrusted boolean, max_effect text, hops smallint, occurred_at timestamptz)),
  cause as (
    select r.id, r.root_event_id, r.event_depth, r.untrusted, r.max_effect, r.hops, exists (
             select from runs o where o.id = r.root_run_id and (o.source = 'evaluation' or o.evaluation_run_id is not null)) as is_evaluation
      from runs r join given g on g.cause_run_id = r.id and g.workspace_id = r.workspace_id),
  event as (
    insert into events (id, organization_id, workspace_id, event_kind, source, subject, payload, dedupe_key, depth, root_event_id, cause_run_id, fan_out, untrusted,
                        max_effect, hops, occurred_at)
    select g.id, g.organization_id, g.workspace_id, g.event_kind, g.source, g.subject, g.payload, g.dedupe_key, coalesce(c.event_depth, 0), coalesce(c.root_event_id, g.id),
           c.id, case when not coalesce(c.is_evaluation, false) and exists (
             select from event_triggers t where t.workspace_id = g.workspace_id and t.is_active and t.deleted_at is null and ${meetsGlobSql('g.event_kind', 't.event_kind')}
           ) then 'pending' else 'done' end,
           g.untrusted or coalesce(c.untrusted, false), case when c.max_effect = 'read' then 'read' else g.max_effect end,
           greatest(g.hops, coalesce(c.hops, 0)), g.occurred_at
      from given g left join cause c on true ${condition}
    returning fan_out)
  insert into outbox (id, organization_id, workspace_id, kind, dedupe_key, target, payload, not_before)
  select o.id, o.organization_id, o.workspace_id, o.kind, o.dedupe_key, o.target, o.payload, now()
    from event e, jsonb_to_record(?::jsonb) as o(id uuid, organization_id uuid, workspace_id uuid, kind text, dedupe_key text, target text, payload jsonb)
   where e.fan_out = 'pending' on conflict do nothing returning id`;

function parametersOf(tx: TenantTransaction, id: string, event: NewEvent): string[] {
  const { organizationId, workspaceId } = event;
  const given = {
    id,
    organization_id: organizationId,
    workspace_id: workspaceId,
    event_kind: event.eventKind,
    source: event.source,
    subject: event.subject ?? null,
    payload: event.payload,
    dedupe_key: event.dedupeKey ?? null,
    cause_run_id: event.causeRunId ?? null,
    untrusted: event.untrusted ?? false,
    max_effect: event.maxEffect ?? 'write',
    hops: event.hops ?? 0,
    occurred_at: event.occurredAt,
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
  return [JSON.stringify(given), JSON.stringify(start)];
}

/** Deletes at most `limit` events older than 90 days, with their matches; returns how many. Sweeper's pool. */
export function eraseEventsByAge(em: SqlEntityManager, limit: number): Promise<number> {
  return change(
    em,
    "delete from events where ctid = any (array(select x.ctid from events x where x.created_at < now() - interval '90 days' limit ?))",
    [limit],
  );
}
