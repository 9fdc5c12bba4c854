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
    'started: a run has its data; published: it is an event and no run; coalescing: it waits for others; merged: a run of others stands for it; dropped: its endpoint was deleted or inactive before; rejected: it was not verified; failed: no run could be started',
});
const Texts = Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string', maxLength: 1_048_576 } });
const Warnings = listOf(
  closed({
    code: text(60, { description: 'Kind of warning, for programs' }),
    field: text(60, { description: 'Field of the endpoint that it is about' }),
    message: text(1_000, { description: 'What happened, for people' }),
  }),
  { maxItems: 30, description: 'What its sender, or who set the endpoint up, may want to mend' },
);
const Anything = (description: string) => Type.Unsafe<unknown>({ description });

const Callback = closed(
  {
    status: oneOf(callbackStatuses, {
      description: 'pending: another try follows; delivered; failed: all tries did; stopped: by 410, or the endpoint or the run is gone',
    }),
    attempts: integer({ description: 'Tries so far' }),
    last_status: nullable(integer({ description: 'HTTP status of the last one' })),
    next_attempt_at: nullable({ ...Timestamp, description: 'When the next one is due; null: at once, or there is none' }),
  },
  { description: 'How the outcome of the run gets to the callback address; null: the run has not ended, or nobody is called back' },
);

export const DeliveryParams = closed({
  endpoint_id: idOf('WebhookEndpoint', 'Whose address deliveries come to'),
  delivery_id: idOf('WebhookDelivery', 'One of its deliveries'),
});

export const DeliveryFilters = closed({
  status: Type.Optional(oneOf(webhookDeliveryStatuses, { description: 'Only deliveries that came to this' })),
  from: Type.Optional({ ...Timestamp, description: 'Received at this time or later' }),
  to: Type.Optional({ ...Timestamp, description: 'Received before this time' }),
});

export const WebhookDeliveryView = closed(
  {
    id: idOf('WebhookDelivery'),
    endpoint_id: idOf('WebhookEndpoint', 'Where it came in'),
    status: Status,
    method: oneOf(hookMethods, { description: 'Method of the request' }),
    verification_form: nullable(text(60, { description: 'Header by which it was verified, or shared_token; null: there was none' })),
    delivery_key: nullable(text(200, { description: 'The sender’s own id of it' })),
    received_at: { ...Timestamp, description: 'When it came' },
    occurred_at: { ...Timestamp, description: 'The sender’s own time of it (event_time_path), else when it was signed, else when it came' },
    content_type: nullable(text(200, { description: 'Media type of its body' })),
    body_bytes: integer({ description: 'Size of its body' }),
    body_preview: nullable(text(2_000, { description: 'How the body begins; null: it is not kept, or not any more' })),
    headers: { ...Texts, description: 'Those of its headers that templates see' },
    query: { ...Texts, description: 'Its parameters, without a token' },
    run_id: nullable(idOf('Run', 'The run that has its data, or stands for it')),
    event_id: nullable(idOf('Other', 'The event that it is')),
    group_id: nullable(idOf('Other', 'Common to the deliveries of one run; null: it is alone, or its group is not closed yet')),
    replay_of: nullable(idOf('WebhookDelivery', 'The delivery that was replayed')),
    duplicate_count: integer({ description: 'Repeats of it, which started nothing' }),
    warnings: Warnings,
    error: nullable(
      closed(
        {
          code: text(60, { description: 'Error code that its sender got' }),
          reason: nullable(text(100, { description: 'More about it, for programs' })),
        },
        { description: 'Why it started nothing; null: it did' },
      ),
    ),
    response_status: integer({ minimum: 100, maximum: 599, description: 'HTTP status that its sender got' }),
    callback: nullable(Callback),
  },
  { $id: 'WebhookDeliveryView', description: 'One request that came to an endpoint, and what became of it' },
);

export const WebhookTest = closed(
  {
    method: Type.Optional(oneOf(hookMethods, { description: 'The endpoint’s own unless given' })),
    headers: Type.Optional({ ...Texts, maxProperties: 50, description: 'Headers of the delivery, its signature among them' }),
    query: Type.Optional({ ...Texts, maxProperties: 50, description: 'Parameters of the delivery' }),
    body: Type.Optional(Anything('Its body as JSON')),
    raw_body: Type.Optional(text(1_048_576, { description: 'Its body to the byte, which a signature needs; instead of body' })),
  },
  { $id: 'WebhookTest', description: 'A delivery as its sender would send it' },
);

export type WebhookTestBody = Static<typeof WebhookTest>;

export const WebhookTestView = closed(
  {
    verification: closed(
      {
        form: nullable(text(60, { description: 'Header by which it was judged' })),
        result: oneOf(['valid', 'invalid', 'missing', 'skipped'], { description: 'skipped: the endpoint verifies nothing' }),
      },
      { description: 'What the delivery proves' },
    ),
    prompt: text(262_144, { description: 'What the run would be asked; empty where the templates can’t be filled' }),
    input: nullable({ ...FreeObject, description: 'JSON input of the run' }),
    session_key: nullable(text(400, { description: 'Conversation of the run; null: one of its own' })),
    persona_slug: nullable(text(400, { description: 'Persona that the template names' })),
    subject: nullable(
      closed(
        {
          kind: oneOf(['user', 'guest'], { description: 'A user of the workspace, or somebody whom only the sender knows' }),
          id: text(262_144, { description: 'Of the user, or as the sender says' }),
        },
        { description: 'For whom the run would work; null: for nobody' },
      ),
    ),
    coalesce_key: nullable(text(262_144, { description: 'Under which it would be coalesced with others; null: it would not' })),
    duplicate_of: nullable(idOf('WebhookDelivery', 'The delivery of the last 24 hours that it would repeat')),
    would_start: Type.Boolean({ description: 'A run would start' }),
    refusal: nullable(text(60, { description: 'Error code that the sender would get' })),
    warnings: Warnings,
  },
  { $id: 'WebhookTestView', description: 'What the endpoint would make of the delivery' },
);

export const HookReceiptView = closed(
  {
    delivery_id: idOf('WebhookDelivery', 'What the list of deliveries shows it as'),
    run_id: nullable(idOf('Run', 'The run that it started; null: none, none yet, or the endpoint tells nobody')),
    event_id: nullable(idOf('Other', 'The event that it is')),
    deduplicated: Type.Boolean({ description: 'It repeats an earlier delivery, whose ids these are; nothing was started' }),
    coalesced: Type.Boolean({ description: 'It waits to become a run together with others' }),
    run_status: Type.Optional(oneOf(runStatuses, { description: 'Of a sync endpoint: how the run stands' })),
    output: Type.Optional(Anything('Of a sync endpoint: what the run gave')),
  },
  { $id: 'HookReceiptView', description: 'That a delivery was taken' },
);
export type HookReceipt = Static<typeof HookReceiptView>;

/** What a hook answers with 200: the receipt, or of a sync endpoint with a response_path the value there alone. */
export const HookAnswer = Type.Unsafe<unknown>({
  $id: 'HookAnswer',
  description: 'The receipt (HookReceiptView), or what response_path picks of the outcome',
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

const longestPreview = 2_000;

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
  return text.slice(0, longestPreview).toWellFormed();
}
