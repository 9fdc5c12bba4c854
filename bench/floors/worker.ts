// Floor of the run benches: a bare Temporal worker. The middle one of three activities adds a frame to a Redis stream, the last one counts.
import { join } from 'node:path';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { Redis } from 'ioredis';
import { tuning } from '../../workers/tuning.ts';
import { given } from '../env.ts';
import { floorKeys } from './keys.ts';

const redis = new Redis(given('REDIS_URL'));
const keys = floorKeys(given('REDIS_PREFIX'));

const activities = {
  async begin(_id: string): Promise<void> {},
  async call(id: string): Promise<void> {
    await redis.xadd(keys.frames(id), '*', 'f', `{"type":"message.delta","id":"${id}","delta":"Hello"}`);
  },
  async finish(_id: string): Promise<void> {
    await redis.incr(keys.finished);
  },
};
export type FloorActivities = typeof activities;

Runtime.install({
  logger: new DefaultLogger('WARN'),
  telemetryOptions: { logging: { filter: { core: 'WARN', other: 'WARN' }, forward: {} } },
  shutdownSignals: [],
});
const worker = await Worker.create({
  ...tuning.runs,
  connection: await NativeConnection.connect({ address: given('TEMPORAL_ADDRESS') }),
  namespace: given('TEMPORAL_NAMESPACE'),
  taskQueue: 'floor',
  workflowsPath: join(import.meta.dirname, 'workflow.ts'),
  activities,
});
process.stdout.write('{}\n');
await worker.run();
