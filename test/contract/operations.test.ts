import { expect, test } from '@jest/globals';
import { areaNames } from '../../api/http/openapi/area-names.ts';
import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { checkRegistry, liveOperations, specifiedOperations } from '../../api/http/operation/registry.ts';
import { successOf } from '../../api/http/reply/render.ts';
import { areas } from '../../api/operations.ts';
import { errorCodes } from '../../workflows/contracts/error-codes.ts';
import { contractOperations, contractTable, type ContractOperation } from './contract.ts';

const wanted = contractOperations();
const live = liveOperations(areas);

/** Areas of which every operation is mounted. */
const wholeAreas = [
  'Runs',
  'Feedback',
  'Sessions',
  'Agents',
  'Skills',
  'Tools',
  'Authentication',
  'Organizations & workspaces',
  'Attachments',
  'Mcp',
  'Oauth',
  'System',
  'Channels',
];
/** What is mounted of the others. */
const mountedBeside = [
  'createOrganization',
  'suspendOrganization',
  'resumeOrganization',
  'deleteOrganization',
  'purgeOrganization',
  'startImpersonation',
  'listImpersonations',
  'endImpersonation',
  'listPrices',
  'createModelPrice',
  'importModelPrices',
  'deleteModelPrice',
  'listOauthClients',
  'createOauthClient',
  'rotateOauthClientSecret',
  'deleteOauthClient',
  'listWebhookEndpoints',
  'createWebhookEndpoint',
  'getWebhookEndpoint',
  'updateWebhookEndpoint',
  'deleteWebhookEndpoint',
  'rotateWebhookEndpointSecret',
  'testWebhookEndpoint',
  'listWebhookDeliveries',
  'replayWebhookDelivery',
  'listSchedules',
  'createSchedule',
  'getSchedule',
  'updateSchedule',
  'deleteSchedule',
  'triggerSchedule',
  'backfillSchedule',
  'listScheduleOccurrences',
  'previewSchedule',
  'receiveHookByGet',
  'receiveHook',
];

test('the contract has 282 live operations in 22 areas and one for operators', () => {
  const alive = wanted.filter((operation) => operation.area !== 'Specified');

  expect(alive).toHaveLength(282);
  expect([...new Set(alive.map((operation) => operation.area))].toSorted()).toEqual([...areaNames].toSorted());
  expect(wanted.filter((operation) => operation.area === 'Specified')).toHaveLength(8);
});

test('the list of operations is free of contradictions', () => {
  expect(() => checkRegistry(areas)).not.toThrow();
});

test('what is promised so far is mounted', () => {
  const whole = wanted.filter((operation) => wholeAreas.includes(operation.area)).map((operation) => operation.operation_id);

  expect(live.map((operation) => operation.operationId)).toEqual(expect.arrayContaining([...whole, ...mountedBeside]));
});

test.each(live.map((operation) => [operation.operationId, operation] as const))('%s is as the contract says', (_id, operation) => {
  const line = wanted.find((candidate) => candidate.operation_id === operation.operationId && candidate.area !== 'Specified');

  expect(shapeOf(operation)).toEqual(line && wantedShapeOf(line));
});

// What one operation alone wants belongs into its handler. These can't: they are asked before its body is read, by the document, or once it has failed.
const optionsOfOne = [
  'alsoFailsAs callMcp',
  'failurePage startAuthorization',
  'multipart createAttachment',
  'ownCredential getMetrics',
  'takesSession verifyMfa',
  'viewsBeside receiveHook',
];

test('an option of operations has two users, or stands among those that can be nowhere else', () => {
  const users = new Map<string, string[]>();
  for (const operation of live)
    for (const option of Object.keys(operation)) users.set(option, [...(users.get(option) ?? []), operation.operationId]);

  const single = [...users].filter(([, of]) => of.length === 1).map(([option, [user = '']]) => `${option} ${user}`);

  expect(single.toSorted()).toEqual(optionsOfOne);
});

test('the eight specified operations are in the list as such', () => {
  const listed = specifiedOperations(areas).map(({ method, path, operationId, access }) => ({
    method,
    path,
    operation_id: operationId,
    access,
  }));
  const specified = wanted
    .filter((operation) => operation.area === 'Specified')
    .map(({ method, path, operation_id, access }) => ({ method, path, operation_id, access }));

  expect(listed).toEqual(specified);
});

test('the areas and the operations in them stand in the order of the contract', () => {
  const order = wanted.map((operation) => operation.operation_id);
  const positions = areas
    .flatMap((area) => area.operations)
    .filter((operation) => operation.status !== 'specified')
    .map((operation) => areaNames.findIndex((name) => name === operation.area));

  expect(positions).toEqual(positions.toSorted((left, right) => left - right));
  expect(order).toEqual(expect.arrayContaining(live.map((operation) => operation.operationId)));
});

test('the error codes are those of the contract, with status and retryability', () => {
  const ours = Object.entries(errorCodes).map(([code, { status, retryable, when }]) => ({
    code,
    status: String(status),
    retryable: retryable ? 'yes' : 'no',
    when,
  }));

  expect(ours).toEqual(contractTable('errors.tsv'));
  expect(ours).toHaveLength(38);
});

function shapeOf(operation: RegisteredOperation) {
  return {
    area: operation.area,
    method: operation.method,
    path: operation.path,
    access: operation.access,
    success: String(successOf(operation)),
    isIdempotent: operation.idempotent,
    hasEtag: operation.etag,
    audit: operation.audit,
  };
}

function wantedShapeOf(line: ContractOperation): ReturnType<typeof shapeOf> {
  return {
    area: line.area,
    // The table holds the methods of HTTP only.
    method: line.method as RegisteredOperation['method'],
    path: line.path,
    access: line.access as RegisteredOperation['access'],
    success: line.success,
    isIdempotent: line.idempotency_key === 'yes',
    hasEtag: line.etag === 'yes',
    audit: (line.audit_action === '-' ? 'none' : line.audit_action) as RegisteredOperation['audit'],
  };
}
