import type { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure, type Payload } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';
import { tenantHeader } from '../../workflows/contracts/queues.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import { refuseStale } from './stale-attempt.ts';
import { inTraceOf } from '../../ports/telemetry/run-trace.ts';
import { toApplicationFailure, workerShutdown } from './failures.ts';
import { keepHeartbeating } from './heartbeat.ts';
import { asTenant, type ActivityTenant } from './tenant.ts';

export interface ActivityGuards {
  /** Verifies the signature of the tenant header; throws when it is not ours. */
  readonly verify: (header: Payload) => ActivityTenant;
  /** Activities that act on no single tenant and therefore run without a header, in no tenant. */
  readonly systemActivities: ReadonlySet<string>;
  readonly log: Logger;
}

/**
 * Wraps every activity: its tenant is verified, heartbeats are sent, an attempt that Temporal has given up does nothing, and its errors are thrown as
 * Temporal's failures.
 */
export function guardActivities(guards: ActivityGuards): ActivityInterceptorsFactory {
  return (context) => ({
    inbound: {
      execute: async (input, next) => {
        const tenant = provenTenant(guards, context, input.headers[tenantHeader]);
        const stopBeating = keepHeartbeating(context);

        try {
          return await asTenant(tenant, () =>
            inTraceOf(context.info.workflowExecution?.workflowId ?? '', tenant?.trace ?? null, async () => {
              await refuseStale();
              return next(input);
            }),
          );
        } catch (error) {
          throw toTemporalFailure(guards, context, error);
        } finally {
          stopBeating();
        }
      },
    },
  });
}

function provenTenant(
  { verify, systemActivities, log }: ActivityGuards,
  context: Context,
  header: Payload | undefined,
): ActivityTenant | null {
  const { activityType } = context.info;

  if (!header && systemActivities.has(activityType)) return null;
  try {
    if (!header) throw new Error('the tenant header is missing');
    return verify(header);
  } catch (err) {
    log.error({ err, activity: activityType, workflow_id: context.info.workflowExecution?.workflowId }, 'activity refused');
    throw ApplicationFailure.nonRetryable('The work was not signed by this deployment.', 'internal_error');
  }
}

function toTemporalFailure({ log }: ActivityGuards, context: Context, error: unknown): unknown {
  const { activityType: activity, attempt, workflowExecution } = context.info;

  if (context.cancellationSignal.aborted && (error instanceof CancelledFailure || isAbortError(error))) {
    return context.cancellationDetails?.workerShutdown ? workerShutdown() : new CancelledFailure('Activity cancelled');
  }
  const failure = toApplicationFailure(error);
  const facts = { activity, attempt, workflow_id: workflowExecution?.workflowId, code: failure.type };

  if (!(error instanceof Failure) && !(error instanceof ApplicationFailure)) log.error({ ...facts, err: error }, 'activity failed');
  else log[failure.nonRetryable ? 'info' : 'warn'](facts, 'activity failed');
  return failure;
}

function isAbortError(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
