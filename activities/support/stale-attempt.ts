import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import type { Egress } from '../../ports/egress/egress.ts';
import type { McpSessions } from '../../ports/mcp/sessions.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { givenUp } from './failures.ts';
import { wasFrozenSince } from './process-freeze.ts';

/** What arrives while the process is frozen is read afterwards, on a busy machine seconds later. */
const maxReadMs = 30_000;
const answerMs = 5_000;
const pauseMs = 500;
const maxAwayMs = 60_000;
/** gRPC's NOT_FOUND. */
const notFound = 5;

/** When an attempt was last known to count, by its context. */
const knownAt = new WeakMap<Context, number>();

/**
 * Throws `given_up` when Temporal may have given up this attempt of an activity: it arrived, or was running, while the process was frozen. Costs nothing when
 * that is impossible. Temporal knows nothing of a local activity: those change only rows, which reject what comes too late.
 */
export async function refuseStale(): Promise<void> {
  const context = Context.current();
  if (context.info.isLocal) return;
  const since = knownAt.get(context) ?? performance.now() - maxReadMs;
  if (wasFrozenSince(since)) await refuseGivenUp();
  else knownAt.set(context, performance.now());
}

/** Throws `given_up` unless Temporal still waits for this attempt: for one that is about to take over what another attempt holds. */
export async function refuseGivenUp(): Promise<void> {
  const context = Context.current();
  const askedAt = performance.now();
  if (!(await isAwaited(context))) throw givenUp();
  knownAt.set(context, askedAt);
}

/** What tools use to reach the outside. */
interface Outside {
  readonly egress: Egress;
  readonly mcp: McpSessions;
}

/** Returns the same, but sends nothing for an attempt that was given up while its process was frozen: between its claim and its request, for example. */
export function sendingWhileAwaited({ egress, mcp }: Outside): Outside {
  const first = async <R>(send: () => Promise<R>): Promise<R> => {
    await refuseStale();
    return send();
  };
  return {
    egress: {
      fetch: (request) => first(() => egress.fetch(request)),
      open: (request) => first(() => egress.open(request)),
      connect: (target) => first(() => egress.connect(target)),
      close: () => egress.close(),
    },
    mcp: {
      use: (asked, work) => mcp.use(asked, (session, patience) => first(() => work(session, patience))),
      size: () => mcp.size(),
      close: () => mcp.close(),
    },
  };
}

/** Whether a cancellation means that Temporal has given up this attempt; no person has cancelled anything then. */
export function isGivenUp({ cancellationDetails }: Pick<Context, 'cancellationDetails'>): boolean {
  return cancellationDetails?.notFound === true || cancellationDetails?.timedOut === true;
}

/**
 * Whether Temporal has lost the workflow execution that scheduled this attempt, with its store or namespace; also true while Temporal does not answer. An
 * execution that has ended, or schedules another attempt, is not lost.
 */
export async function isLost({ client, info }: Pick<Context, 'client' | 'info'>): Promise<boolean> {
  const { workflowExecution: execution, namespace } = info;
  try {
    await client.connection.withDeadline(Date.now() + answerMs, () =>
      client.workflowService.describeWorkflowExecution({ namespace, execution: execution ?? null }),
    );
    return false;
  } catch {
    return true;
  }
}

/**
 * Asks Temporal with a heartbeat, whose token names the attempt: Temporal does not find one that timed out, or whose successor is scheduled. The worker's own
 * heartbeats return no reply to wait for. Throws service_unavailable when there is no reply for a minute.
 */
async function isAwaited(context: Context): Promise<boolean> {
  for (const end = performance.now() + maxAwayMs; ; await delay(pauseMs)) {
    if (isGivenUp(context)) return false;
    if (context.cancellationSignal.aborted) return true; // cancelled by a person, or by the stopping worker: the attempt learns of it
    try {
      const { client, info } = context;
      await client.connection.withDeadline(Date.now() + answerMs, () =>
        client.workflowService.recordActivityTaskHeartbeat({ namespace: info.namespace, taskToken: info.taskToken }),
      );
      return true;
    } catch (error) {
      if (codeOf(error) === notFound) return false;
      if (performance.now() > end && !context.cancellationSignal.aborted)
        throw fail('service_unavailable', { detail: 'Temporal did not say whether it waits for this.', cause: error });
    }
  }
}

function codeOf(error: unknown): number | null {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : null;
}
