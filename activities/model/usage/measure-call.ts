import type { ActivityDeps } from '../../deps.ts';
import { ModelError, reasonOf } from '../faults/errors.ts';

/** Makes one model call and records its duration and outcome. */
export async function measureCall<R>({ metrics }: Pick<ActivityDeps, 'metrics'>, provider: string, call: () => Promise<R>): Promise<R> {
  const startedAt = performance.now();
  let outcome = 'ok';
  try {
    return await call();
  } catch (error) {
    outcome = error instanceof ModelError ? reasonOf(error.class) : 'aborted';
    throw error;
  } finally {
    metrics.modelCalled(provider, outcome, (performance.now() - startedAt) / 1_000);
  }
}
