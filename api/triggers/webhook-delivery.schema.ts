import Type, { type Static } from 'typebox';
import { iso } from '../../db/sql.ts';
import type { WebhookDeliveryRow } from '../../db/webhooks/deliveries.ts';
import { callbackStatuses } from '../../db/webhooks/outbound-callback.entity.ts';
import { webhookDeliveryStatuses } from '../../db/webhooks/webhook-delivery.entity.ts';
import { hookMethods } from '../../db/webhooks/webhook-endpoint.entity.ts';
import { runStatuses } from '../../workflows/contracts/runs/runs.ts';
import { closed, FreeObject, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

const Status = oneOf(webhookDeliveryStatuses, {
  extensible: true,
  description:
    'started: a run has its data; published: it became an event, not a run; coalescing: it waits for others; merged: it was merged into a run of others; dropped: its endpoint was deleted or deactivated first; rejected: it was not verified; failed: no run could be started',
});
const Texts = Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string', maxLength: 1_048_576 } });
const Warnings = listOf(
  closed({
    code: text(60, { description: 'Kind of warning, for programs' }),
    field: text(60, { description: 'Field of the endpoint that it is about' }),
    message: text(1_000, { description: 'What happened, for people' }),
  }),
  { maxItems: 30, description: 'A problem that the sender, or the owner of the endpoint, may want to fix' },
);
const Anything = (description: string) => Type.Unsafe<unknown>({ description });

const Callback = closed(
  {
    status: oneOf(callbackStatuses, {
      description:
        'pending: another try follows; delivered; failed: all tries failed; stopped: by a 410, or because the endpoint or the run no longer exists',
    }),
    attempts: integer({ description: 'Tries so far' }),
    last_status: nullable(integer({ description: 'HTTP status of the last one' })),
    next_attempt_at: nullable({ ...Timestamp, description: 'When the next try is due; null: at once, or there is none' }),
  },
  { description: 'How the outcome of the run is delivered to the callback address; null if the run has not ended or there is no callback' },
);

export const DeliveryParams = closed({
  endpoint_id: idOf('WebhookEndpoint', 'The endpoint that receives the deliveries'),
  delivery_id: idOf('WebhookDelivery', 'One of its deliveries'),
});

export const DeliveryFilters = closed({
  status: Type.Optional(oneOf(webhookDeliveryStatuses, { description: 'Only deliveries with this outcome' })),
  from: Type.Optional({ ...Timestamp, description: 'Received at this time or later' }),
  to: Type.Optional({ ...Timestamp, description: 'Received before this time' }),
});

export const WebhookDeliveryView = closed(
  {
    id: idOf('WebhookDelivery'),
    endpoint_id: idOf('WebhookEndpoint', 'The endpoint that received it'),
    status: Status,
    method: oneOf(hookMethods, { description: 'Method of the request' }),
    verification_form: nullable(text(60, { description: 'The header by which it was verified, or shared_token; null if there was none' })),
    delivery_key: nullable(text(200, { description: 'The sender’s id of the delivery' })),
    received_at: { ...Timestamp, description: 'When it was received' },
    occurred_at: {
      ...Timestamp,
      description: 'The sender’s timestamp (event_time_path), otherwise when it was signed, otherwise when it was received',
    },
    content_type: nullable(text(200, { description: 'Media type of its body' })),
    body_bytes: integer({ description: 'Size of its body' }),
    body_preview: nullable(text(2_000, { description: 'The beginning of the body; null if it is not, or no longer, stored' })),
    headers: { ...Texts, description: 'Its headers that are available to templates' },
    query: { ...Texts, description: 'Its parameters, without a token' },
    run_id: nullable(idOf('Run', 'The run that has its data, or into which it was merged')),
    event_id: nullable(idOf('Other', 'The event that it became')),
    group_id: nullable(idOf('Other', 'Shared by the deliveries of one run; null if it is not grouped, or its group is not closed yet')),
    replay_of: nullable(idOf('WebhookDelivery', 'The delivery that was replayed')),
    duplicate_count: integer({ description: 'Number of repeats, which started nothing' }),
    warnings: Warnings,
    error: nullable(
      closed(
        {
          code: text(60, { description: 'Error code that the sender received' }),
          reason: nullable(text(100, { description: 'Details for programs' })),
        },
        { description: 'Why it started nothing; null if it started something' },
      ),
    ),
    response_status: integer({ minimum: 100, maximum: 599, description: 'HTTP status that the sender received' }),
    callback: nullable(Callback),
  },
  { $id: 'WebhookDeliveryView', description: 'One request to an endpoint, and its outcome' },
);

export const WebhookTest = closed(
  {
    method: Type.Optional(oneOf(hookMethods, { description: 'Defaults to that of the endpoint' })),
    headers: Type.Optional({ ...Texts, maxProperties: 50, description: 'Headers of the delivery, including its signature' }),
    query: Type.Optional({ ...Texts, maxProperties: 50, description: 'Parameters of the delivery' }),
    body: Type.Optional(Anything('Its body as JSON')),
    raw_body: Type.Optional(text(1_048_576, { description: 'Its exact body as text, as needed for a signature; instead of body' })),
  },
  { $id: 'WebhookTest', description: 'A delivery as the sender would send it' },
);

export type WebhookTestBody = Static<typeof WebhookTest>;

export const WebhookTestView = closed(
  {
    verification: closed(
      {
        form: nullable(text(60, { description: 'The header by which it was verified' })),
        result: oneOf(['valid', 'invalid', 'missing', 'skipped'], { description: 'skipped: the endpoint verifies nothing' }),
      },
      { description: 'The result of verification' },
    ),
    prompt: text(262_144, { description: 'The text input of the run; empty if the templates cannot be rendered' }),
    input: nullable({ ...FreeObject, description: 'JSON input of the run' }),
    session_key: nullable(text(400, { description: 'Conversation of the run; null: a separate one' })),
    persona_slug: nullable(text(400, { description: 'Persona named by the template' })),
    subject: nullable(
      closed(
        {
          kind: oneOf(['user', 'guest'], { description: 'A user of the workspace, or someone known only to the sender' }),
          id: text(262_144, { description: 'Id of the user, or the id from the sender' }),
        },
        { description: 'The subject of the run; null: none' },
      ),
    ),
    coalesce_key: nullable(text(262_144, { description: 'The key by which it would be grouped with others; null if it would not be' })),
    duplicate_of: nullable(idOf('WebhookDelivery', 'The delivery of the last 24 hours that it would repeat')),
    would_start: Type.Boolean({ description: 'Whether a run would start' }),
    refusal: nullable(text(60, { description: 'Error code that the sender would receive' })),
    warnings: Warnings,
  },
  { $id: 'WebhookTestView', description: 'How the endpoint would handle the delivery' },
);

export const HookReceiptView = closed(
  {
    delivery_id: idOf('WebhookDelivery', 'Id of the delivery in the list of deliveries'),
    run_id: nullable(idOf('Run', 'The run that it started; null: none, none yet, or the endpoint does not reveal it')),
    event_id: nullable(idOf('Other', 'The event that it became')),
    deduplicated: Type.Boolean({ description: 'Whether it repeats an earlier delivery, whose ids these are; nothing was started' }),
    coalesced: Type.Boolean({ description: 'Whether it waits to become a run together with others' }),
    run_status: Type.Optional(oneOf(runStatuses, { description: 'For a sync endpoint: the status of the run' })),
    output: Type.Optional(Anything('For a sync endpoint: the output of the run')),
  },
  { $id: 'HookReceiptView', description: 'Confirms that a delivery was accepted' },
);
export type HookReceipt = Static<typeof HookReceiptView>;

/** What a hook answers with 200: the receipt, or of a sync endpoint with a response_path the value there alone. */
export const HookAnswer = Type.Unsafe<unknown>({
  $id: 'HookAnswer',
  description: 'The receipt (HookReceiptView), or the part of the outcome that response_path selects',
  examples: [
    {
      delivery_id: '01960000-0000-7000-8000-000000000001',
      run_id: '01960000-0000-7000-8000-000000000002',
      event_id: null,
      deduplicated: false,
      coalesced: false,
    },
  ],
});

const maxPreviewChars = 2_000;

/** The wire form of a delivery. */
export function toWebhookDeliveryView(row: WebhookDeliveryRow): Static<typeof WebhookDeliveryView> {
  return {
    id: row.id,
    endpoint_id: row.endpointId,
    status: row.status,
    method: row.method,
    verification_form: row.verificationForm,
    delivery_key: row.deliveryKey,
    received_at: iso(row.receivedAt),
    occurred_at: iso(row.occurredAt),
    content_type: row.contentType,
    body_bytes: row.bodyBytes,
    body_preview: row.preview === null ? null : previewOf(row.preview),
    headers: row.headers,
    query: row.query,
    run_id: row.runId,
    event_id: row.eventId,
    group_id: row.groupId,
    replay_of: row.replayOf,
    duplicate_count: row.duplicateCount,
    warnings: row.warnings,
    error: row.errorCode === null ? null : { code: row.errorCode, reason: row.errorReason },
    response_status: row.responseStatus,
    callback: row.callback && {
      status: row.callback.status,
      attempts: row.callback.attempts,
      last_status: row.callback.lastStatus,
      next_attempt_at: iso(row.callback.nextAttemptAt),
    },
  };
}

function previewOf(bytes: Buffer): string {
  const text = bytes.toString().replaceAll('\u0000', '\uFFFD');
  return text.slice(0, maxPreviewChars).toWellFormed();
}
