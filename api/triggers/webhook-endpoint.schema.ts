import Type, { type Static } from 'typebox';
import { iso } from '../../db/sql.ts';
import type { WebhookEndpointRow } from '../../db/webhooks/endpoints.ts';
import { hookMethods, verifications } from '../../db/webhooks/webhook-endpoint.entity.ts';
import type { EndpointFields } from '../../domain/webhooks/endpoint-rules.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { fieldsSet } from '../http/operation/changes.ts';
import { closed, FreeObject, idOf, integer, nullable, oneOf, stating, text, Timestamp } from '../http/input/schema.ts';
import { Coalescing, coalescingOf, toCoalescingView } from './coalescing.schema.ts';
import { pointerForm } from '../../domain/webhooks/endpoint-rules.ts';

export const EndpointParams = closed({ endpoint_id: idOf('WebhookEndpoint', 'The endpoint that receives the deliveries') });

const methods = [...hookMethods, 'PUT'] as const;
const modes = ['async', 'sync', 'callback', 'ack'] as const;

const Slug = text(120, {
  minLength: 1,
  pattern: '^[a-z0-9][a-z0-9_-]*$',
  description: 'The last part of its address, `/hooks/{workspace_id}/{slug}`; unique in its workspace',
});
const Method = oneOf(methods, { description: 'The method that it accepts; PUT is not supported' });
const VerificationKind = oneOf(verifications, {
  description: 'How senders are verified: by a signature, by a token, or not at all, in which case the run can only read',
});
const Mode = oneOf(modes, {
  description:
    'The reply to the sender: async 202 with the run, ack 200 without it, sync the outcome of the run (after at most 25 s, then 202), callback 202 and later the outcome to callback_url',
});
const Prompt = text(65_536, {
  minLength: 1,
  description: 'Liquid template with body, headers, query, method, endpoint and now; `fence` encloses external content in markers',
});
export const InputTemplate = {
  ...FreeObject,
  description: 'JSON input of the run, its texts templates; one that is exactly one {{ path }} keeps its type',
};
export const KeyTemplate = (description: string) => text(400, { description });
export const SubjectTemplate = closed(
  {
    kind: oneOf(['user', 'guest'], { description: 'A user of the workspace, or someone known only to the sender' }),
    id: text(400, { minLength: 1, description: 'Template of the id' }),
  },
  { $id: 'SubjectTemplate', description: 'For whom runs work' },
);
const ResponsePath = text(400, {
  description: 'JSON pointer into {run_id, status, finish_reason, output}: the part that a sync endpoint returns instead of the receipt',
});
const CallbackUrl = text(2_000, {
  minLength: 1,
  description: 'Where mode callback posts the outcome of each run, signed as Standard Webhooks by the secret of the endpoint',
});
const EventKind = text(120, {
  minLength: 1,
  description:
    'Publishes each delivery as an event of this kind, such as shop.order_paid: instead of a run in mode ack, otherwise in addition to it',
});
const RateLimit = integer({ minimum: 1, maximum: 10_000, description: 'Maximum number of verified requests per minute' });
const UnverifiedAck = Type.Boolean({
  description: 'Unverified requests get the usual reply of the mode and start nothing; false: they get 401',
});
const IsActive = Type.Boolean({ description: 'false: its address answers 404' });
const Secret = text(256, {
  minLength: 16,
  pattern: '^[\\x21-\\x7e]+$',
  description: 'A secret of your choice; if omitted, one is generated',
});

const shown = {
  id: idOf('WebhookEndpoint'),
  agent_id: idOf('Agent'),
  slug: Slug,
  http_method: Method,
  verification: VerificationKind,
  secret_set: Type.Boolean({ description: 'Whether it has a secret' }),
  rotation_active: Type.Boolean({ description: 'Whether the previous secret is still valid' }),
  secret_overlap_until: nullable({ ...Timestamp, description: 'Until when the previous secret is valid; null if it is not' }),
  prompt_template: Prompt,
  input_template: nullable(InputTemplate),
  session_key_template: nullable(
    KeyTemplate('Deliveries with the same key are turns of one conversation; null: each delivery is a separate conversation'),
  ),
  persona_slug_template: nullable(KeyTemplate('Persona of the run; null: that of the conversation or the agent')),
  subject_template: nullable(SubjectTemplate),
  response_mode: Mode,
  response_path: nullable(ResponsePath),
  callback_url: nullable(CallbackUrl),
  event_kind: nullable(EventKind),
  rate_limit_per_minute: RateLimit,
  coalescing: Coalescing,
  unverified_ack: UnverifiedAck,
  call_count: integer({ description: 'Number of accepted deliveries' }),
  is_active: IsActive,
  created_at: Timestamp,
} as const;

export const WebhookEndpointView = closed(shown, {
  $id: 'WebhookEndpointView',
  description: 'An address at which another system starts runs of an agent, without its secret',
});

export const WebhookEndpointSecretView = closed(
  { ...shown, secret: nullable(text(256, { description: 'Shown only once; null if nothing is verified' })) },
  { $id: 'WebhookEndpointSecretView', description: 'An endpoint with its new secret' },
);

const changeable = {
  input_template: Type.Optional(nullable(InputTemplate)),
  session_key_template: Type.Optional(shown.session_key_template),
  persona_slug_template: Type.Optional(shown.persona_slug_template),
  subject_template: Type.Optional(nullable(SubjectTemplate)),
  response_path: Type.Optional(nullable(stating(ResponsePath, { pattern: pointerForm.source }))),
  callback_url: Type.Optional(nullable(CallbackUrl)),
};

export const WebhookEndpointCreate = closed(
  {
    workspace_id: Type.Optional(nullable(idOf('Workspace'))),
    agent_id: idOf('Agent', 'The agent whose runs are started'),
    slug: Slug,
    http_method: Type.Optional({ ...Method, default: 'POST' }),
    verification: Type.Optional({ ...VerificationKind, default: 'hmac_sha256' }),
    secret: Type.Optional(Secret),
    prompt_template: Type.Optional({ ...Prompt, default: '{{ body | json | fence }}' }),
    ...changeable,
    response_mode: Type.Optional({ ...Mode, default: 'async' }),
    event_kind: Type.Optional(shown.event_kind),
    rate_limit_per_minute: Type.Optional({ ...RateLimit, default: 60 }),
    coalescing: Type.Optional(Coalescing),
    unverified_ack: Type.Optional({ ...UnverifiedAck, default: false }),
    is_active: Type.Optional({ ...IsActive, default: true }),
  },
  { $id: 'WebhookEndpointCreate', description: 'A new endpoint; its method, verification, slug and agent cannot be changed later' },
);

export const WebhookEndpointUpdate = closed(
  {
    prompt_template: Type.Optional(nullable(Prompt)),
    ...changeable,
    response_mode: Type.Optional(nullable(Mode)),
    rate_limit_per_minute: Type.Optional(nullable(RateLimit)),
    coalescing: Type.Optional(nullable(Coalescing)),
    is_active: Type.Optional(nullable(IsActive)),
  },
  {
    $id: 'WebhookEndpointUpdate',
    description: 'The fields that are sent are changed, the rest is kept; null resets a field to its default',
  },
);

export const WebhookSecretRotate = closed(
  {
    overlap_seconds: Type.Optional(
      integer({ maximum: 604_800, default: 86_400, description: 'How long the previous secret remains valid; 0: not at all' }),
    ),
    secret: Type.Optional(Secret),
  },
  { $id: 'WebhookSecretRotate', description: 'How to replace the secret' },
);

export const EndpointFilters = closed({
  agent_id: Type.Optional(idOf('Agent', 'Only endpoints of this agent')),
  is_active: Type.Optional(Type.Boolean({ description: 'Only active endpoints, or only inactive ones' })),
  q: Type.Optional(text(120, { minLength: 1, description: 'Text in the slug' })),
});

type Create = Static<typeof WebhookEndpointCreate>;
type Update = Static<typeof WebhookEndpointUpdate>;

/** The default settings of an endpoint. */
const defaults = {
  promptTemplate: '{{ body | json | fence }}',
  inputTemplate: null,
  sessionKeyTemplate: null,
  personaSlugTemplate: null,
  subjectTemplate: null,
  responseMode: 'async',
  responsePath: null,
  callbackUrl: null,
  coalescing: null,
  rateLimitPerMinute: 60,
  isActive: true,
} as const;

/** The fields of a new endpoint. 422 for PUT, and for coalescing without a window. */
export function newEndpointFields(body: Create): EndpointFields {
  const { http_method: method = 'POST', event_kind: eventKind = null } = body;
  if (method === 'PUT') throw invalid('/http_method', 'method_not_mounted', 'PUT is not supported');
  return {
    ...defaults,
    ...changedEndpointFields(body),
    httpMethod: method,
    eventKind,
    verification: body.verification ?? 'hmac_sha256',
    unverifiedAck: body.unverified_ack ?? false,
  };
}

/** The fields that a body sets: null is what a new endpoint would have. 422 for coalescing without a window. */
export function changedEndpointFields(body: Update): Partial<EndpointFields> {
  const given = <V, D>(value: V | null | undefined, byDefault: D) => (value === undefined ? undefined : (value ?? byDefault));

  return fieldsSet<EndpointFields>({
    promptTemplate: given(body.prompt_template, defaults.promptTemplate),
    inputTemplate: body.input_template,
    sessionKeyTemplate: body.session_key_template,
    personaSlugTemplate: body.persona_slug_template,
    subjectTemplate: body.subject_template,
    responseMode: given(body.response_mode, defaults.responseMode),
    responsePath: body.response_path,
    callbackUrl: body.callback_url,
    coalescing: body.coalescing && coalescingOf(body.coalescing),
    rateLimitPerMinute: given(body.rate_limit_per_minute, defaults.rateLimitPerMinute),
    isActive: given(body.is_active, defaults.isActive),
  });
}

/** The wire form of an endpoint. */
export function toWebhookEndpointView(row: WebhookEndpointRow): Static<typeof WebhookEndpointView> {
  return {
    id: row.id,
    agent_id: row.agentId,
    slug: row.slug,
    http_method: row.httpMethod,
    verification: row.verification,
    secret_set: row.hasSecret,
    rotation_active: row.overlapUntil !== null,
    secret_overlap_until: iso(row.overlapUntil),
    prompt_template: row.promptTemplate,
    input_template: row.inputTemplate,
    session_key_template: row.sessionKeyTemplate,
    persona_slug_template: row.personaSlugTemplate,
    subject_template: row.subjectTemplate,
    response_mode: row.responseMode,
    response_path: row.responsePath,
    callback_url: row.callbackUrl,
    event_kind: row.eventKind,
    rate_limit_per_minute: row.rateLimitPerMinute,
    coalescing: toCoalescingView(row.coalescing),
    unverified_ack: row.unverifiedAck,
    call_count: row.callCount,
    is_active: row.isActive,
    created_at: iso(row.createdAt),
  };
}
