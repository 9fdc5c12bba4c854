import Type, { type Static } from 'typebox';
import type { EventTriggerRow } from '../../db/events/triggers.ts';
import { iso } from '../../db/sql.ts';
import type { TriggerFields } from '../../domain/events/triggers.ts';
import { fieldsSet } from '../http/operation/changes.ts';
import { closed, FreeObject, idOf, integer, Name, nullable, stating, text, Timestamp } from '../http/input/schema.ts';
import { Coalescing, coalescingOf, toCoalescingView } from './coalescing.schema.ts';
import { InputTemplate, KeyTemplate, SubjectTemplate } from './webhook-endpoint.schema.ts';
import { globForm } from '../../domain/triggers/kinds.ts';

export const TriggerParams = closed({ trigger_id: idOf('EventTrigger', 'An event trigger') });

export const KindGlob = text(120, {
  minLength: 1,
  description: 'Kind of its events, such as shop.order_paid or run.failed; * stands for one segment, ** at the end for one or more',
});
const Filter = {
  ...FreeObject,
  description:
    'A condition that events must meet: a JsonLogic rule over id, event_kind, source, subject, payload, depth, root_event_id, cause_run_id and occurred_at, with var, ==, != (both strict), <, <=, >, >=, in, and, or, !, missing; at most 100 nodes, 10 levels',
};
const Prompt = text(65_536, { minLength: 1, description: 'Liquid template with event, now and, if a whole group is used, items' });
const MaxDepth = integer({
  minimum: 1,
  maximum: 10,
  description: 'An event with this many runs before it in its chain starts no further run. Defaults to 3',
});
const IsActive = Type.Boolean({ description: 'false: it starts nothing' });

const changeable = {
  filter: nullable(Filter),
  input_template: nullable(InputTemplate),
  session_key_template: nullable(
    KeyTemplate('Events with the same key are turns of one conversation; null: each event is a separate conversation'),
  ),
  persona_slug_template: nullable(KeyTemplate('Persona of the run; null: that of the conversation or the agent')),
  subject_template: nullable(SubjectTemplate),
};

export const EventTriggerView = closed(
  {
    id: idOf('EventTrigger'),
    name: Name,
    agent_id: idOf('Agent'),
    event_kind: KindGlob,
    prompt_template: Prompt,
    ...changeable,
    coalescing: Coalescing,
    max_depth: MaxDepth,
    is_active: IsActive,
    match_count: integer({ description: 'Number of events that passed its kind, depth and filter' }),
    created_by_user_id: nullable(idOf('User')),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'EventTriggerView', description: 'Starts a run of an agent when an event happens' },
);

const optional = {
  filter: Type.Optional(changeable.filter),
  input_template: Type.Optional(changeable.input_template),
  session_key_template: Type.Optional(changeable.session_key_template),
  persona_slug_template: Type.Optional(changeable.persona_slug_template),
  subject_template: Type.Optional(changeable.subject_template),
};

export const EventTriggerCreate = closed(
  {
    workspace_id: Type.Optional(nullable(idOf('Workspace'))),
    name: Name,
    agent_id: idOf('Agent', 'The agent whose runs are started'),
    event_kind: stating(KindGlob, { pattern: globForm.source }),
    prompt_template: Prompt,
    ...optional,
    coalescing: Type.Optional(nullable(Coalescing)),
    max_depth: Type.Optional({ ...MaxDepth, default: 3 }),
    is_active: Type.Optional({ ...IsActive, default: true }),
  },
  { $id: 'EventTriggerCreate', description: 'A new event trigger' },
);

export const EventTriggerUpdate = closed(
  {
    name: Type.Optional(Name),
    agent_id: Type.Optional(idOf('Agent', 'The agent whose runs are started')),
    event_kind: Type.Optional(stating(KindGlob, { pattern: globForm.source })),
    prompt_template: Type.Optional(Prompt),
    ...optional,
    coalescing: Type.Optional(nullable(Coalescing)),
    max_depth: Type.Optional(MaxDepth),
    is_active: Type.Optional(IsActive),
  },
  { $id: 'EventTriggerUpdate', description: 'The fields that are sent are changed, the rest is kept; null clears a field' },
);

export const TriggerFilters = closed({
  agent_id: Type.Optional(idOf('Agent', 'Only triggers of this agent')),
  is_active: Type.Optional(Type.Boolean({ description: 'Only active triggers, or only inactive ones' })),
});

/** The fields of a new trigger. 422 for coalescing without a window. */
export function newTriggerFields(body: Static<typeof EventTriggerCreate>): TriggerFields {
  return {
    name: body.name,
    agentId: body.agent_id,
    eventKind: body.event_kind,
    promptTemplate: body.prompt_template,
    filter: body.filter ?? null,
    inputTemplate: body.input_template ?? null,
    sessionKeyTemplate: body.session_key_template ?? null,
    personaSlugTemplate: body.persona_slug_template ?? null,
    subjectTemplate: body.subject_template ?? null,
    coalescing: body.coalescing ? coalescingOf(body.coalescing) : null,
    maxDepth: body.max_depth ?? 3,
    isActive: body.is_active ?? true,
  };
}

/** The fields that a body sets. 422 for coalescing without a window. */
export function changedTriggerFields(body: Static<typeof EventTriggerUpdate>): Partial<TriggerFields> {
  return fieldsSet<TriggerFields>({
    name: body.name,
    agentId: body.agent_id,
    eventKind: body.event_kind,
    promptTemplate: body.prompt_template,
    filter: body.filter,
    inputTemplate: body.input_template,
    sessionKeyTemplate: body.session_key_template,
    personaSlugTemplate: body.persona_slug_template,
    subjectTemplate: body.subject_template,
    coalescing: body.coalescing && coalescingOf(body.coalescing),
    maxDepth: body.max_depth,
    isActive: body.is_active,
  });
}

/** The wire form of a trigger. */
export function toEventTriggerView(row: EventTriggerRow): Static<typeof EventTriggerView> {
  return {
    id: row.id,
    name: row.name,
    agent_id: row.agentId,
    event_kind: row.eventKind,
    filter: row.filter,
    prompt_template: row.promptTemplate,
    input_template: row.inputTemplate,
    session_key_template: row.sessionKeyTemplate,
    persona_slug_template: row.personaSlugTemplate,
    subject_template: row.subjectTemplate,
    coalescing: toCoalescingView(row.coalescing),
    max_depth: row.maxDepth,
    is_active: row.isActive,
    match_count: row.matchCount,
    created_by_user_id: row.createdByUserId,
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
