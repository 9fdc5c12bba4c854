import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { isGrpcServiceError, ServiceError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import type { Logger } from 'pino';
import { isTemporalUnavailable, type Temporal } from './client.ts';
import { ensureSchedules } from './schedules.ts';
import { addSearchAttributes, missingSearchAttributes } from './search-attributes.ts';

const aMinuteMs = 60_000;
const againMs = 2_000;
const maxCheckMs = 10_000;
/** How long operators can read ended workflows in a namespace that was created here. */
const retentionS = 3 * 24 * 3600;

/** gRPC status codes. */
const codes = { invalidArgument: 3, notFound: 5, alreadyExists: 6, permissionDenied: 7, unimplemented: 12 } as const;

interface Completed {
  /** Temporal's own id of the namespace: a recreated namespace of the same name has another. */
  readonly id: string;
  /** Errors of what this account may not do, and which is left to an operator. */
  readonly refusals: readonly unknown[];
}

/** Checks under way: a caller that meets an incomplete namespace meanwhile waits for the same check. */
const checks = new WeakMap<Temporal, Promise<Completed>>();

/** Creates what is missing: the namespace itself, its search attributes, the schedules. Idempotent. */
export function completeNamespace(temporal: Temporal): Promise<Completed> {
  const underWay = checks.get(temporal);
  if (underWay) return underWay;

  const checking = temporal.connection
    .withDeadline(Date.now() + maxCheckMs, () => complete(temporal))
    .finally(() => checks.delete(temporal));
  checks.set(temporal, checking);
  return checking;
}

async function complete(temporal: Temporal): Promise<Completed> {
  const id = await ensureNamespace(temporal);
  const refusals: unknown[] = [];
  const unlessRefused = (error: unknown): void => {
    if (!isRefused(error)) throw error;
    refusals.push(error);
  };
  const missing = await missingSearchAttributes(temporal).catch(unlessRefused);
  // They are known to be missing, so a refusal to add them leaves the namespace incomplete.
  await addSearchAttributes(temporal, missing ?? []);
  await ensureSchedules(temporal).catch(unlessRefused);
  return { id, refusals };
}

async function ensureNamespace(temporal: Temporal): Promise<string> {
  const { connection, namespace } = temporal;
  try {
    return await namespaceId(temporal);
  } catch (error) {
    if (codeOf(error) !== codes.notFound) throw error;
  }
  await connection.workflowService
    .registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: retentionS as never } }) // a Long or a number
    .catch((error: unknown) => {
      if (codeOf(error) !== codes.alreadyExists) throw error;
    });
  return namespaceId(temporal);
}

async function namespaceId({ connection, namespace }: Temporal): Promise<string> {
  const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });

  return namespaceInfo?.id ?? '';
}

/** Whether a call failed because the namespace is missing or lacks a search attribute: `completeNamespace` may help. */
export function isNamespaceIncomplete(error: unknown): boolean {
  if (error instanceof NamespaceNotFoundError) return true;
  const cause = error instanceof ServiceError ? error.cause : error;

  return isGrpcServiceError(cause) && Number(cause.code) === codes.invalidArgument && /search attribute/i.test(cause.details);
}

function isRefused(error: unknown): boolean {
  const code = codeOf(error);

  return code === codes.permissionDenied || code === codes.unimplemented;
}

function codeOf(error: unknown): number | null {
  if (error instanceof NamespaceNotFoundError) return codes.notFound;
  const cause = error instanceof ServiceError ? error.cause : error;

  return isGrpcServiceError(cause) ? cause.code : null;
}

/** Monitors the namespace of one process. */
export interface NamespaceKeeper {
  /** Rejects unless the namespace exists now and is complete; one that was incomplete, or was recreated since, is completed first. */
  check(): Promise<void>;
  /** Resolves when the namespace is known to exist, complete or not, or when `signal` is aborted. */
  untilThere(signal: AbortSignal): Promise<unknown>;
  stop(): void;
}

export interface KeeperOptions {
  /** For tests: how often to check. */
  readonly pollEveryMs?: number;
}

/**
 * Checks every minute that the namespace has all that the processes need, and recreates what is missing: Temporal's store was lost, or the namespace was
 * rebuilt. Retries every two seconds after a failure.
 */
export function keepNamespace(temporal: Temporal, log: Logger, { pollEveryMs = aMinuteMs }: KeeperOptions = {}): NamespaceKeeper {
  const stopping = new AbortController();
  const there = Promise.withResolvers<void>();
  const note = createNote(log, temporal.namespace);
  let completeId: string | null = null;

  const checking = async (): Promise<void> => {
    try {
      const completed = await completeNamespace(temporal);
      completeId = completed.id;
      note.complete(completed);
      there.resolve();
    } catch (error) {
      completeId = null;
      if (!isTemporalUnavailable(error) && codeOf(error) !== codes.notFound) there.resolve();
      if (!stopping.signal.aborted) note.incomplete(error);
      throw error;
    }
  };
  const keepLooking = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const pauseMs = await checking().then(
        () => pollEveryMs,
        () => againMs,
      );
      await delay(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  };

  void keepLooking();
  return {
    async check() {
      // A check under way may belong to a start that has met a gap.
      if (checks.has(temporal) || (await namespaceId(temporal)) !== completeId) await checking();
    },
    untilThere: (signal) => Promise.race([there.promise, signal.aborted ? undefined : once(signal, 'abort')]),
    stop: () => stopping.abort(),
  };
}

/** Logs each change once, not each check. */
function createNote(log: Logger, namespace: string) {
  let lastId: string | null = null;
  let isComplete: boolean | null = null;
  let hasSaidRefusal = false;

  return {
    complete({ id, refusals }: Completed): void {
      if (refusals.length > 0 && !hasSaidRefusal) log.error({ err: refusals[0], namespace }, 'namespace is left to the operator');
      if (lastId !== null && lastId !== id) log.warn({ namespace }, 'namespace was made anew');
      if (isComplete === false) log.info({ namespace }, 'namespace complete');
      hasSaidRefusal ||= refusals.length > 0;
      lastId = id;
      isComplete = true;
    },
    incomplete(err: unknown): void {
      if (isComplete !== false) log.warn({ err, namespace }, 'namespace not complete');
      isComplete = false;
    },
  };
}
