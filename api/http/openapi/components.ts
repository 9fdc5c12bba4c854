import { ifMatchPattern } from '../reply/etag.ts';
import type { Json } from './schemas.ts';

const uuid = { type: 'string', format: 'uuid', maxLength: 36 } as const;

const onEveryReply = ['X-Correlation-Id', 'X-Request-Duration-Ms', 'RateLimit', 'RateLimit-Policy', 'Access-Control-Allow-Origin'];

/** References to the headers that every reply carries, and to some more. */
export function headerReferences(more: readonly string[] = []): Record<string, Json> {
  return Object.fromEntries([...onEveryReply, ...more].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** The shared parts that the document refers to. */
export function onlyUsed(
  kind: 'parameters' | 'headers' | 'responses' | 'examples',
  parts: Record<string, Json>,
  text: string,
): Record<string, Json> {
  return Object.fromEntries(Object.entries(parts).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)));
}

/** Parameters that many operations share. */
export function documentParameters(): Record<string, Json> {
  const tags = { type: 'string', minLength: 1, maxLength: 1_000 };
  const current = { ...tags, pattern: ifMatchPattern, examples: ['"7"'] };
  return {
    IdempotencyKey: header('Idempotency-Key', 'Makes retries safe for 24 hours: the same key and request return the same reply', {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      pattern: '^[\\x21-\\x7e]+$',
    }),
    IfMatch: header('If-Match', 'ETag of the version to change; without it, the last write wins', current),
    IfMatchRequired: { ...header('If-Match', 'ETag of the version to change', current), required: true },
    IfNoneMatch: header(
      'If-None-Match',
      'ETag that the client has; while it is current, the answer is 304 with the ETag and without a body',
      tags,
    ),
    ActingUser: header('X-Acting-User', 'Acts as another user; requires admin or above', uuid),
    ViewOrganization: header('X-View-Organization', 'Narrows an operator to one organization', uuid),
    ViewWorkspace: header('X-View-Workspace', 'Narrows an operator to one workspace', uuid),
  };
}

/** Headers that replies carry. */
export function documentHeaders(): Record<string, Json> {
  const text = { type: 'string', maxLength: 1_000 };
  return {
    'X-Correlation-Id': { description: 'Identifies this request in logs, audit log and errors', schema: uuid },
    'X-Request-Duration-Ms': { description: 'Milliseconds until the reply', schema: { type: 'number', minimum: 0, maximum: 86_400_000 } },
    'RateLimit': { description: 'What remains of each quota, and when it resets', schema: text },
    'RateLimit-Policy': { description: 'The quotas to which this request counted', schema: text },
    'Access-Control-Allow-Origin': { description: 'Origin that can read the reply; only if CORS is enabled', schema: text },
    'Retry-After': {
      description: 'Seconds to wait before retrying the request',
      schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 86_400 },
    },
    'ETag': { description: 'Version of the resource', schema: text },
    'Location': { description: 'Path of the resource', schema: text },
    'Idempotency-Replayed': { description: 'true if the reply is a stored one', schema: { type: 'string', enum: ['true'] } },
  };
}

function header(name: string, description: string, schema: Json): Json {
  return { name, in: 'header', required: false, description, schema };
}
