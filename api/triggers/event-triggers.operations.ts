import { EventTrigger } from '../../db/events/event-trigger.entity.ts';
import { listTriggerRows, readTrigger, type EventTriggerRow } from '../../db/events/triggers.ts';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { seeForChange } from '../../db/scope.ts';
import { changeTrigger, deleteTrigger, makeTrigger } from '../../domain/events/triggers.ts';
import { changesOf } from '../http/operation/changes.ts';
import { get, list, patch, post, remove, reply, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import {
  changedTriggerFields,
  EventTriggerCreate,
  EventTriggerUpdate,
  EventTriggerView,
  newTriggerFields,
  toEventTriggerView,
  TriggerFilters,
  TriggerParams,
} from './event-trigger.schema.ts';

const resourceType = 'event_trigger';

export const eventTriggerOperations = {
  listEventTriggers: list(
    '/event-triggers',
    {
      summary: 'List event triggers',
      description: 'Triggers that the caller can see, newest first.',
      access: 'viewer',
      paging: 'keyset',
      mcp: true,
      query: TriggerFilters,
      view: EventTriggerView,
    },
    async (ctx, { query: { agent_id: agentId, is_active: isActive } }) => {
      const active = isActive === true ? (true as const) : undefined;
      const inactive = isActive === false ? (true as const) : undefined;
      return mapPage(await listTriggerRows(ctx, { agentId, active, inactive }, ctx.page), toEventTriggerView);
    },
  ),

  createEventTrigger: post(
    '/event-triggers',
    {
      summary: 'Create an event trigger',
      description:
        'Creates a trigger that starts a run of an agent for each event of a kind that passes a filter. At most 200 per workspace.',
      access: 'admin',
      fails: ['not_found', 'state_conflict'],
      audit: 'create',
      idempotent: true,
      resourceType,
      location: (view: { readonly id: string }) => `/event-triggers/${view.id}`,
      body: EventTriggerCreate,
      view: EventTriggerView,
      example: {
        body: {
          name: 'Large orders',
          agent_id: '01960000-0000-7000-8000-000000000001',
          event_kind: 'shop.order_paid',
          filter: { '>=': [{ var: 'payload.total' }, 100] },
          prompt_template: 'An order was paid: {{ event.payload | json | fence }}',
        },
      },
    },
    async (ctx, { body }) => {
      const place = await resolveNewRowWorkspace(ctx, body.workspace_id);
      const createdByUserId = ctx.caller.userId;
      const id = await makeTrigger(ctx, depsOf(ctx), { ...newTriggerFields(body), ...place, createdByUserId });
      const row = await readTrigger(ctx, id);
      ctx.audit(noteOf(row));
      return toEventTriggerView(row);
    },
  ),

  getEventTrigger: get(
    '/event-triggers/{trigger_id}',
    {
      summary: 'Read an event trigger',
      description: 'Returns one trigger with the number of events that it has accepted.',
      access: 'viewer',
      etag: true,
      // That number grows independently of the version.
      notModified: false,
      mcp: true,
      params: TriggerParams,
      view: EventTriggerView,
    },
    async (ctx, { params }) => {
      const row = await readTrigger(ctx, params.trigger_id);
      return reply(toEventTriggerView(row), { version: row.version });
    },
  ),

  updateEventTrigger: patch(
    '/event-triggers/{trigger_id}',
    {
      summary: 'Change an event trigger',
      description:
        'Changes the fields that are sent and keeps the rest. Applies to later events; deactivating the trigger drops waiting events.',
      access: 'admin',
      audit: 'update',
      etag: true,
      resourceType,
      params: TriggerParams,
      body: EventTriggerUpdate,
      view: EventTriggerView,
      example: { body: { filter: { in: [{ var: 'payload.country' }, ['DE', 'AT']] }, max_depth: 2 } },
    },
    async (ctx, { params, body }) => {
      const before = await readTrigger(ctx, params.trigger_id);
      const trigger = await seeForChange(ctx, EventTrigger, params.trigger_id);
      await changeTrigger(ctx, depsOf(ctx), { trigger, change: changedTriggerFields(body) });
      const row = await readTrigger(ctx, trigger.id);
      ctx.audit(noteOf(row, changesOf(toEventTriggerView(before), toEventTriggerView(row), audited)));
      return reply(toEventTriggerView(row), { version: row.version });
    },
  ),

  deleteEventTrigger: remove(
    '/event-triggers/{trigger_id}',
    {
      summary: 'Delete an event trigger',
      description: 'It starts no further runs, and its waiting events are dropped. Runs that it has started continue.',
      access: 'admin',
      audit: 'delete',
      openWhenSuspended: true,
      resourceType,
      params: TriggerParams,
    },
    async (ctx, { params }) => {
      const row = await readTrigger(ctx, params.trigger_id);
      const trigger = await seeForChange(ctx, EventTrigger, params.trigger_id, { versionProperty: null, openWhenSuspended: true });
      await deleteTrigger(ctx, trigger, ctx.deps.now());
      await forgetReplies(ctx, [trigger.id]);
      ctx.audit(noteOf(row));
    },
  ),
};

const audited = [
  'name',
  'agent_id',
  'event_kind',
  'filter',
  'prompt_template',
  'input_template',
  'session_key_template',
  'persona_slug_template',
  'subject_template',
  'coalescing',
  'max_depth',
  'is_active',
] as const;

function depsOf({ deps, caller }: Pick<Ctx, 'deps' | 'caller'>) {
  return { templates: deps.templates.of(organizationOf(caller)) };
}

function noteOf({ id, name, organizationId, workspaceId }: EventTriggerRow, changes: AuditNote['changes'] = {}): AuditNote {
  return { resourceType, resourceId: id, label: name, organizationId, workspaceId, changes };
}
