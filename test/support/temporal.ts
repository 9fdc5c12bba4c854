import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { randomKeyRing, type KeyRing } from '../../db/key-ring.ts';
import { connectTemporal, isTemporalUnavailable, type Temporal } from '../../temporal/client.ts';
import { addSearchAttributes, searchAttributeNames } from '../../temporal/search-attributes.ts';
import { workflowIds } from '../../workflows/contracts/queues.ts';

const retentionS = 24 * 3600;
export const patienceMs = 240_000;

/** A namespace of its own on the test server, so that queues, schedules and ids of two tests never meet. Made in milliseconds. */
export interface TestNamespace {
  readonly temporal: Temporal;
  readonly address: string;
  readonly namespace: string;
  readonly keys: KeyRing;
  close(): Promise<void>;
}

/** Makes a namespace with the search attributes; `keys` sign its headers (a worker process must be given the same). */
export async function testNamespace(keys: KeyRing = randomKeyRing()): Promise<TestNamespace> {
  const address = process.env['TEMPORAL_ADDRESS'];

  if (!address) throw new Error('TEMPORAL_ADDRESS is not set');
  const namespace = `test-${randomUUID()}`;
  const temporal = connectTemporal({ address, namespace, identity: 'test', headerKeys: keys.headerKeys });
  readHistoriesAgain(temporal);

  await temporal.connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: retentionS } as never,
  });
  await until(() =>
    addSearchAttributes(temporal, searchAttributeNames).then(
      () => true,
      () => false,
    ),
  );

  return {
    temporal,
    address,
    namespace,
    keys,
    close: () =>
      endSchedules(temporal)
        .catch(() => undefined)
        .finally(() => temporal.close()),
  };
}

/**
 * Reads a history again when its connection was lost, as on a machine that is busy for ten seconds: who awaits a result waits for minutes on one
 * request. The product's client tries nothing again by itself.
 */
function readHistoriesAgain({ connection: { workflowService } }: Temporal): void {
  const read = workflowService.getWorkflowExecutionHistory.bind(workflowService) as typeof workflowService.getWorkflowExecutionHistory;
  const again = async (request: Parameters<typeof read>[0]) => {
    for (const startedAt = Date.now(); ; await delay(200))
      try {
        return await read(request);
      } catch (error) {
        if (!isTemporalUnavailable(error) || Date.now() - startedAt > patienceMs) throw error;
      }
  };
  workflowService.getWorkflowExecutionHistory = again as typeof read;
}

/** The same with the suite's limit for each call, in place of the short ones after which the product leaves a message to the next who tries. */
export function patient(temporal: Temporal): Temporal {
  const { connection } = temporal;
  const withDeadline: Temporal['connection']['withDeadline'] = (_deadline, work) => connection.withDeadline(Date.now() + patienceMs, work);
  // A connection but for this.
  return { ...temporal, connection: Object.create(connection, { withDeadline: { value: withDeadline } }) as Temporal['connection'] };
}

/** Those of a namespace that nobody works for any more would fire beside all tests that follow. */
async function endSchedules({ client }: Temporal): Promise<void> {
  for await (const { scheduleId } of client.schedule.list()) {
    await client.schedule
      .getHandle(scheduleId)
      .delete()
      .catch(() => undefined);
  }
}

const sweeps = ['http-sweep', 'frames', 'attachments', 'identity-sweep', 'retention', 'ws-purge', 'signing-keys'];

/**
 * Pauses what comes by the hour and by the day: a sweep at the top of an hour would take rows away under a test that compares them. One that a test
 * triggers runs all the same.
 */
export async function pauseSweeps({ client }: Temporal): Promise<void> {
  for (const name of sweeps) {
    const schedule = client.schedule.getHandle(workflowIds.maintenance(name));
    await until(() =>
      schedule.pause('a test compares rows').then(
        () => true,
        () => false,
      ),
    );
  }
}

/** Has what was paused come again: another test of the deployment may count on it. */
export async function resumeSweeps({ client }: Temporal): Promise<void> {
  for (const name of sweeps) await client.schedule.getHandle(workflowIds.maintenance(name)).unpause();
}

/**
 * Waits until the condition holds. Fails after the limit, which is for what hangs, and a little less than Jest's own, so that the error names the line.
 * Asks every 25 ms at first and every 100 ms in the end: each question may be a request.
 */
export async function until(condition: () => Promise<boolean> | boolean, maxMs = patienceMs): Promise<void> {
  const startedAt = Date.now();

  while (!(await condition())) {
    const waitedMs = Date.now() - startedAt;
    if (waitedMs > maxMs) throw new Error(`not so within ${maxMs} ms`);
    await delay(Math.min(100, 25 + waitedMs / 50));
  }
}
