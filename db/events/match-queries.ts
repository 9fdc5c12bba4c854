import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { EventSource } from '../triggers/event.entity.ts';
import type { Coalescing } from '../webhooks/webhook-endpoint.entity.ts';
import { meetsGlobSql } from '../triggers/kind-glob.sql.ts';

/** What an event passes on to the runs that it starts; for a group, the longest chain and the least trust. */
export interface EventCause {
  readonly depth: number;
  readonly rootEventId: string;
  readonly untrusted: boolean;
  readonly maxEffect: 'read' | 'write';
  readonly hops: number;
}

/** An event as filters and templates see it. */
export interface StoredEvent extends EventCause {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly eventKind: string;
  readonly source: EventSource;
  readonly subject: string | null;
  readonly payload: Record<string, unknown>;
  readonly causeRunId: string | null;
  readonly occurredAt: string;
}

/** An active trigger as events use it to start runs. */
export interface LiveTrigger {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly name: string;
  readonly filter: Record<string, unknown> | null;
  readonly promptTemplate: string;
  readonly inputTemplate: Record<string, unknown> | null;
  readonly sessionKeyTemplate: string | null;
  readonly personaSlugTemplate: string | null;
  readonly subjectTemplate: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
  readonly coalescing: Coalescing | null;
  readonly maxDepth: number;
  readonly version: number;
}

const eventJson = `jsonb_build_object('id', e.id, 'organizationId', e.organization_id, 'workspaceId', e.workspace_id, 'eventKind', e.event_kind, 'source', e.source,
  'subject', e.subject, 'payload', e.payload, 'depth', e.depth, 'rootEventId', e.root_event_id, 'causeRunId', e.cause_run_id, 'untrusted', e.untrusted,
  'maxEffect', e.max_effect, 'hops', e.hops, 'occurredAt', to_char(e.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

const triggerJson = `jsonb_build_object('id', t.id, 'organizationId', t.organization_id, 'workspaceId', t.workspace_id, 'agentId', t.agent_id, 'name', t.name,
  'filter', t.filter, 'promptTemplate', t.prompt_template, 'inputTemplate', t.input_template, 'sessionKeyTemplate', t.session_key_template,
  'personaSlugTemplate', t.persona_slug_template, 'subjectTemplate', t.subject_template, 'coalescing', t.coalescing, 'maxDepth', t.max_depth, 'version', t.version)`;

/** An event whose fan-out is pending. */
export interface PendingEvent {
  readonly event: StoredEvent;
  /** Active triggers of its kind that have not been judged. */
  readonly triggers: readonly LiveTrigger[];
  /** The database's clock. */
  readonly now: string;
}

/** Returns an event whose fan-out is pending, and the active triggers of its kind that have not been judged, in one query; null when nothing is pending. */
export function readFanOut(tx: TenantTransaction, eventId: string): Promise<PendingEvent | null> {
  return row<PendingEvent>(
    tx.em,
    `select ${eventJson} as event, clock_timestamp() as now, coalesce((
       select jsonb_agg(${triggerJson} order by t.id) from event_triggers t
        where t.workspace_id = e.workspace_id and t.is_active and t.deleted_at is null and ${meetsGlobSql('e.event_kind', 't.event_kind')}
          and not exists (select from event_matches m where m.event_id = e.id and m.trigger_id = t.id)), '[]') as triggers
     from events e where e.id = ? and e.fan_out = 'pending'`,
    [eventId],
  );
}

/** Returns a trigger that accepts events now, or null when it accepts none. */
export async function readLiveTrigger(tx: TenantTransaction, triggerId: string): Promise<LiveTrigger | null> {
  const found = await row<{ trigger: LiveTrigger }>(
    tx.em,
    `select ${triggerJson} as trigger from event_triggers t where t.id = ? and t.is_active and t.deleted_at is null`,
    [triggerId],
  );
  return found?.trigger ?? null;
}

/** Returns the events of a group whose data count, by the time at which they happened, and what the group as a whole passes on to its run. */
export async function readEventGroup(
  tx: TenantTransaction,
  groupId: string,
  payload: 'first' | 'last' | 'all',
): Promise<{ readonly used: readonly GroupedEvent[]; readonly cause: EventCause } | null> {
  const order = payload === 'last' ? 'm.occurred_at desc, m.id desc' : 'm.occurred_at, m.id';
  const found = await rows<GroupedEvent & { readonly cause: EventCause }>(
    tx.em,
    `select m.id as "matchId", ${eventJson} as event, c.cause from event_matches m join events e on e.id = m.event_id, (
       select jsonb_build_object('rootEventId', (array_agg(x.root_event_id order by x.depth desc, x.id))[1], 'depth', max(x.depth), 'untrusted', bool_or(x.untrusted),
                'maxEffect', case when bool_or(x.max_effect = 'read') then 'read' else 'write' end, 'hops', max(x.hops)) as cause
         from event_matches n join events x on x.id = n.event_id where n.group_id = ? and n.outcome = 'coalescing') c
      where m.group_id = ? and m.outcome = 'coalescing' order by ${order} ${payload === 'all' ? '' : 'limit 1'}`,
    [groupId, groupId],
  );
  const [first] = found;
  return first ? { used: found, cause: first.cause } : null;
}

/** A match of a group, with its event. */
export interface GroupedEvent {
  readonly matchId: string;
  readonly event: StoredEvent;
}
