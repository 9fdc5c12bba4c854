import { pino } from 'pino';
import { createWorkPool, type WorkPool, type WorkPoolOptions } from '../../ports/untrusted/pool.ts';

/** The pool of the product, as every process has one. The test closes it. */
export function testWorkPool(options: Partial<WorkPoolOptions> = {}): WorkPool {
  return createWorkPool({ log: pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }), ...options });
}

let lent: WorkPool | null = null;

/** One pool for the APIs of all files of a Jest worker, which starts its children once. They end with the worker (`child.ts`). */
export function lentWorkPool(): WorkPool {
  return (lent ??= testWorkPool());
}
