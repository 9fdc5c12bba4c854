import type { RegisteredOperation } from '../../../api/http/operation/operation.ts';
import { querySchemaOf } from '../../../api/http/reply/page.ts';
import { asObject } from '../requests.ts';
import type { Fault } from '../stage.ts';

/** Fields that are called ids and name no row of ours, with the reason. */
const foreignIds: Readonly<Record<string, string>> = {
  client_id: 'the name of an OAuth client, a text by RFC 7591',
  session_key: 'chosen by clients',
  subject_id: 'the name of an end user in the system of a client',
  provider_request_id: 'of a model provider',
  transaction_id: 'an opaque token of 256 bits',
  installation_id: 'a number of the Git host',
  trace_id: 'of the tracing system (W3C Trace Context)',
  span_id: 'of the tracing system (W3C Trace Context)',
  resource_id: 'of any kind of row, a text for those with no uuid',
  operation_id: 'the name of an operation',
  correlation_id: 'of a request',
  external_id: 'of whoever brought an item in',
  kid: 'of a signing key',
  build_id: 'of a worker build',
  sent_message_id: 'of a message in a chat service',
  callback_query_id: 'of the press of a button, made by Telegram',
};

/** Single places where an `id` names no row of ours. */
const foreignPlaces: Readonly<Record<string, string>> = {
  'getEffectiveAgent view/model/id': 'the name of a model',
  'callMcp body/id': 'of a JSON-RPC request, chosen by the client',
  'callMcp body[]/id': 'the same, in a batch',
  'callMcp view/id': 'the same, in its answer',
  'callMcp view[]/id': 'the same, in the answer of a batch',
  'testChannel view/identity/id': 'of the bot in its chat service',
  'createEvaluation body/dataset/items[]/id': 'a key of the data set, chosen by whoever made it',
  'createEvaluation view/results[]/item_id': 'the same key',
  'getEvaluation view/results[]/item_id': 'the same key',
};

/** G11 for schemas: every id of a path, query, body or view is written `idOf(…)`, so that the walk finds it. */
export function markFaults(operations: readonly RegisteredOperation[]): Fault[] {
  return operations.flatMap((operation) => {
    const parts = { path: operation.params, query: querySchemaOf(operation), body: operation.body, view: operation.view };
    return Object.entries(parts).flatMap(([part, schema]) =>
      [...unmarkedIn(schema, part, '')]
        .filter((at) => !(`${operation.operationId} ${at}` in foreignPlaces))
        .map((at) => ({ operation: operation.operationId, fault: `${at} is an id without idOf` })),
    );
  });
}

function* unmarkedIn(schema: unknown, at: string, name: string): Generator<string> {
  const node = asObject(schema);
  const isMarked = typeof node['x-id-of'] === 'string';
  const isText = node['type'] === 'string' || (Array.isArray(node['type']) && node['type'].includes('string'));
  const isNamedSo = /(^|_)ids?$/.test(name) && !(name in foreignIds) && !(name === 'id' && at.includes('/subject'));
  if (isText && !isMarked && (node['format'] === 'uuid' ? !(name in foreignIds) : isNamedSo)) yield at;
  for (const key of ['oneOf', 'allOf', 'anyOf'] as const) {
    for (const branch of Array.isArray(node[key]) ? node[key] : []) yield* unmarkedIn(branch, at, name);
  }
  if (node['items'] !== undefined) yield* unmarkedIn(node['items'], `${at}[]`, name);
  for (const [property, child] of Object.entries(asObject(node['properties']))) yield* unmarkedIn(child, `${at}/${property}`, property);
}
