import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomKeyRing } from '../../db/key-ring.ts';
import { connectTemporal, type Temporal } from '../../temporal/client.ts';
import { sendMessage } from '../../temporal/messages.ts';
import { completeNamespace, keepNamespace } from '../../temporal/namespace.ts';
import { scheduleIds } from '../../temporal/schedules.ts';
import { missingSearchAttributes, searchAttributeNames } from '../../temporal/search-attributes.ts';
import { runStartMessage } from '../../db/runs/start/conversations.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';
import { testServices } from '../support/services.ts';
import { until } from '../support/temporal.ts';
import { silent } from '../support/worker.ts';

const opened: Temporal[] = [];
let temporal: Temporal;

beforeAll(() => {
  temporal = connect();
});

afterAll(async () => {
  for (const one of opened) {
    await deleteSchedules(one).catch(() => undefined);
    await one.close();
  }
});

/** A client of a namespace that nobody has made. */
function connect(address = testServices().temporalAddress): Temporal {
  const made = connectTemporal({ address, namespace: `gone-${randomUUID()}`, identity: 'test', headerKeys: randomKeyRing().headerKeys });
  opened.push(made);
  return made;
}

async function deleteSchedules({ client }: Temporal): Promise<void> {
  for (const id of scheduleIds)
    await client.schedule
      .getHandle(id)
      .delete()
      .catch(() => undefined);
}

const isThere = (id: string) =>
  temporal.client.schedule
    .getHandle(id)
    .describe()
    .then(
      () => true,
      () => false,
    );
const areAllThere = async () => (await Promise.all(scheduleIds.map(isThere))).every(Boolean);

const startOf = (runId: string) =>
  runStartMessage(
    { id: runId, organizationId: randomUUID(), workspaceId: randomUUID(), agentId: randomUUID(), source: 'api' },
    randomUUID(),
  );

/** Sends until it is taken, as the relay does: Temporal needs seconds until a new namespace is known to all its parts. */
const untilSent = (runId: string) =>
  until(() =>
    sendMessage(temporal, startOf(runId)).then(
      () => true,
      () => false,
    ),
  );

test('a start in a namespace that is gone makes it with its attributes and schedules, and is taken', async () => {
  const runId = randomUUID();

  await untilSent(runId);

  expect((await temporal.client.workflow.getHandle(workflowIds.run(runId)).describe()).status.name).toBe('RUNNING');
  expect(await missingSearchAttributes(temporal)).toEqual([]);
  await until(areAllThere);
});

test('a start that misses a search attribute makes it', async () => {
  const name = searchAttributeNames[0] ?? '';
  await temporal.connection.operatorService.removeSearchAttributes({ namespace: temporal.namespace, searchAttributes: [name] });
  await until(async () => (await missingSearchAttributes(temporal)).length === 1);

  const runId = randomUUID();
  await untilSent(runId);

  const { searchAttributes } = await temporal.client.workflow.getHandle(workflowIds.run(runId)).describe();
  expect(searchAttributes['OrganizationId']).toHaveLength(1);
});

test('a schedule that is gone is made by the next look; one that an operator paused stays as it is', async () => {
  const [gone = '', paused = ''] = scheduleIds;
  await completeNamespace(temporal);
  await temporal.client.schedule.getHandle(gone).delete();
  await temporal.client.schedule.getHandle(paused).pause('by an operator');
  await until(async () => !(await isThere(gone)));

  await until(async () => {
    await completeNamespace(temporal);
    return isThere(gone);
  });

  expect((await temporal.client.schedule.getHandle(paused).describe()).state).toMatchObject({ paused: true, note: 'by an operator' });
});

test('the keeper looks again and again, and makes what has gone meanwhile', async () => {
  const keeper = keepNamespace(temporal, silent, { pollEveryMs: 200 });
  await until(() => passes(keeper));
  const schedule = temporal.client.schedule.getHandle(scheduleIds[2] ?? '');
  const madeAt = async () => (await schedule.describe().catch(() => null))?.info.createdAt.getTime() ?? 0;
  const before = await madeAt();
  await schedule.delete();

  await until(async () => (await madeAt()) > before);

  keeper.stop();
});

test('its check fails while Temporal is away, and holds a namespace for incomplete that it has not seen complete', async () => {
  const away = keepNamespace(connect('127.0.0.1:9'), silent);
  const fresh = connect();
  const keeper = keepNamespace(fresh, silent);

  expect(await passes(away)).toBe(false);
  await until(() => passes(keeper));

  expect(await missingSearchAttributes(fresh)).toEqual([]);
  away.stop();
  keeper.stop();
});

test('a namespace that was made anew under its name is not complete before all is there again', async () => {
  const rebuilt = connect();
  const keeper = keepNamespace(rebuilt, silent);
  await until(() => passes(keeper));
  const { operatorService, workflowService } = rebuilt.connection;
  const { namespace } = rebuilt;
  // Temporal deletes by a workflow of its own, which a busy server may leave lying: asked again until the name is free.
  await until(async () => {
    await operatorService.deleteNamespace({ namespace }).catch(() => undefined);
    return workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } }).then(
      () => true,
      () => false,
    );
  });

  // The keeper's own next look is a minute away.
  await until(() => passes(keeper), 50_000);

  expect(await missingSearchAttributes(rebuilt)).toEqual([]);
  keeper.stop();
});

const passes = (keeper: ReturnType<typeof keepNamespace>) =>
  keeper.check().then(
    () => true,
    () => false,
  );
