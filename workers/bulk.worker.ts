import { taskQueues } from '../workflows/contracts/queues.ts';
import { runWorkerProcess } from './worker-process.ts';

await runWorkerProcess(taskQueues.bulk);
