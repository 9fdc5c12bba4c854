import { AsyncLocalStorage } from 'node:async_hooks';
import {
  Client,
  isGrpcServiceError,
  ServiceError,
  type Connection,
  type ScheduleClientInterceptor,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import type { KeyList } from '../db/key-ring.ts';
import { tenantHeader } from '../workflows/contracts/queues.ts';
import { openConnection, type TemporalAddress } from './connection.ts';

/** One process's connection to Temporal. */
export interface Temporal {
  readonly connection: Connection;
  readonly client: Client;
  readonly namespace: string;
  readonly headerKeys: KeyList;
  /** Workflows and schedules created inside `work` carry the signed header. */
  withHeader<R>(header: Payload, work: () => Promise<R>): Promise<R>;
  close(): Promise<void>;
}

export interface TemporalOptions extends TemporalAddress {
  /** Shown in histories as the requester. */
  readonly identity: string;
  readonly headerKeys: KeyList;
}

/** Creates the client at once, even while Temporal is unavailable. */
export function connectTemporal(options: TemporalOptions): Temporal {
  const { namespace, identity, headerKeys } = options;
  const connection = openConnection(options);
  const header = new AsyncLocalStorage<Payload>();
  const addHeader: WorkflowClientInterceptor = {
    start: (input, next) => {
      const payload = header.getStore();

      return next(payload ? { ...input, headers: { ...input.headers, [tenantHeader]: payload } } : input);
    },
    signalWithStart: (input, next) => {
      const payload = header.getStore();

      return next(payload ? { ...input, headers: { ...input.headers, [tenantHeader]: payload } } : input);
    },
  };
  const addToSchedule: ScheduleClientInterceptor = {
    create: (input, next) => {
      const payload = header.getStore();

      return next(payload ? { ...input, headers: { ...input.headers, [tenantHeader]: payload } } : input);
    },
  };
  const client = new Client({ connection, namespace, identity, interceptors: { workflow: [addHeader], schedule: [addToSchedule] } });

  return {
    connection,
    client,
    namespace,
    headerKeys,
    withHeader: (payload, work) => header.run(payload, work),
    close: () => connection.close(),
  };
}

// gRPC status codes of a server that is down, late or too busy, whatever the call.
const awayCodes: readonly number[] = [4, 8, 14];

/** Whether an error of a call means that Temporal can't be reached now, as opposed to refusing this call. */
export function isTemporalUnavailable(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;

  return isGrpcServiceError(cause) && awayCodes.includes(cause.code);
}
