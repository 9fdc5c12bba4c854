import { Connection } from '@temporalio/client';

/** Address of Temporal. An API key needs TLS and switches it on. */
export interface TemporalAddress {
  readonly address: string;
  readonly namespace: string;
  readonly apiKey?: string | null;
  readonly isTls?: boolean;
}

/**
 * A lazy client connection: it is created without reaching Temporal, and reconnects at least every 2 s (gRPC's own delay grows to 2 minutes), so that messages
 * in the outbox are sent soon after an outage.
 */
export function openConnection({ address, apiKey, isTls }: TemporalAddress): Connection {
  return Connection.lazy({
    address,
    ...(apiKey ? { apiKey } : {}),
    ...(isTls || apiKey ? { tls: true } : {}),
    // No retries below this layer: outbox, reconciler and schedules retry by themselves, a call that fails fast returns to them sooner, and the SDK's own retry
    // throws out of a timer when the connection is closed meanwhile.
    interceptors: [],
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.min_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2000,
      'grpc.keepalive_permit_without_calls': 1,
      'grpc.keepalive_time_ms': 30_000,
      'grpc.keepalive_timeout_ms': 10_000,
    },
  });
}
