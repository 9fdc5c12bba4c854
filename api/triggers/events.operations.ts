import { listEventRows, readEvent, type EventFilters as Filters } from '../../db/events/events.ts';
import { resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { isKindGlob, patternOfGlob } from '../../domain/triggers/kinds.ts';
import { publishEvent } from '../../domain/events/publish.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { runHeader, runOfHeader } from '../../workflows/contracts/triggers/hops.ts';
import { area, list, post } from '../http/operation/operation.ts';
import { EventFilters, EventPublish, EventView, toEventView } from './event.schema.ts';

/** What happens in a workspace, for triggers that listen. */
export const events = area('Events', {
  publishEvent: post(
    '/events',
    {
      summary: 'Publish an event',
      description:
        'Publishes an event; each active trigger of its kind starts a run or records why not. With a dedupe_key, it counts once in 24 hours, and a repeat returns the first event. Requests from a run’s tools carry X-Longhaul-Run, which places an event one level deeper in its chain.',
      access: 'member',
      audit: 'submit',
      idempotent: true,
      mcp: true,
      success: [202],
      resourceType: 'event',
      body: EventPublish,
      view: EventView,
      example: {
        body: { event_kind: 'shop.order_paid', subject: 'order-42', payload: { order_id: 42, total: 129.5 }, dedupe_key: 'order-42-paid' },
      },
      identify: ({ headers }) => Promise.resolve({ causeRunId: runOfHeader(headers[runHeader]) }),
    },
    async (ctx, { body, identified: { causeRunId } }) => {
      const place = await resolveNewRowWorkspace(ctx, body.workspace_id);
      const { id, isDuplicate } = await publishEvent(ctx, {
        ...place,
        eventKind: body.event_kind,
        subject: body.subject ?? null,
        payload: body.payload ?? {},
        dedupeKey: body.dedupe_key ?? null,
        occurredAt: body.occurred_at ? new Date(body.occurred_at) : ctx.deps.now(),
        causeRunId,
      });
      const row = await readEvent(ctx, id);
      if (!row) throw fail('service_unavailable', { retryAfterS: 1 }); // the first has just been erased
      ctx.audit({ resourceType: 'event', resourceId: id, label: row.eventKind, ...place });
      return toEventView(row, { isDuplicate });
    },
  ),

  listEvents: list(
    '/events',
    {
      summary: 'List events',
      description: 'Events of the last 90 days that the caller can see, newest first, with their outcomes.',
      access: 'viewer',
      paging: 'keyset',
      mcp: true,
      query: EventFilters,
      view: EventView,
    },
    async (ctx, { query: { event_kind: kind, from, to } }) =>
      mapPage(await listEventRows(ctx, { ...kindFilter(kind), from, to }, ctx.page), (row) => toEventView(row)),
  ),
});

function kindFilter(kind: string | undefined): Pick<Filters, 'kind' | 'kindPattern'> {
  if (kind === undefined) return {};
  if (!isKindGlob(kind)) throw invalid('/event_kind', 'pattern', 'must be segments joined by dots, each a name or *; the last may be **');
  return kind.includes('*') ? { kindPattern: patternOfGlob(kind) } : { kind };
}
