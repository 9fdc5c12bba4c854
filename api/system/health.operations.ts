import { fail } from '../../workflows/contracts/failure.ts';
import { get, type Ctx } from '../http/operation/operation.ts';
import { healthOf } from './dependencies.ts';
import type { HealthState } from './health.ts';
import { HealthView, toHealthView } from './health.schema.ts';

const probe = { access: 'none', view: HealthView, transaction: 'none', unlimited: true } as const;

export const healthOperations = {
  getLiveness: get(
    '/health/live',
    {
      ...probe,
      summary: 'Check liveness',
      description: 'Answers as long as the event loop runs, also while draining; checks nothing else.',
    },
    async (ctx) => toHealthView(healthOf(ctx.deps).live()),
  ),

  getReadiness: get(
    '/health/ready',
    {
      ...probe,
      summary: 'Check readiness',
      description:
        'Checks PostgreSQL, Redis, Temporal and migrations. Without Redis or Temporal, or while the Temporal namespace lacks something the deployment needs, the process is degraded but still answers 200. Otherwise 503, with the checks in the context.',
    },
    async (ctx) => toHealthView(refuseUnavailable(await healthOf(ctx.deps).ready())),
  ),

  getStartup: get(
    '/health/startup',
    {
      ...probe,
      summary: 'Check startup',
      description: 'Answers 200 once routes, documents and migrations are in place, and continues to do so.',
    },
    async (ctx) => toHealthView(await started(ctx)),
  ),
};

async function started(ctx: Ctx): Promise<HealthState> {
  const health = healthOf(ctx.deps);
  if (await health.started()) return health.live();
  throw fail('service_unavailable', { detail: 'The process has not started yet.', retryAfterS: 1 });
}

function refuseUnavailable(state: HealthState): HealthState {
  if (state.status !== 'unavailable') return state;
  throw fail('service_unavailable', {
    detail: 'The process is not ready to serve requests.',
    retryAfterS: 1,
    context: { checks: state.checks, draining: state.draining },
  });
}
