import { Connection } from '@temporalio/client';

/** Where Temporal is. An API key needs TLS and switches it on. */
export interface TemporalAddress {
  readonly address: string;
  readonly namespace: string;
  readonly apiKey?: string | null;
  readonly isTls?: boolean;
}

/**
 * A client connection that comes up when Temporal does: it is made without one, and looks for it again at least every
 * 2 s (gRPC's own pause grows to 2 minutes), so that what waits in the outbox leaves soon after an outage.
 */
export function openConnection({ address, apiKey, isTls }: TemporalAddress): Connection {
  return Connection.lazy({
    address,
    ...(apiKey ? { apiKey } : {}),
    ...(isTls || apiKey ? { tls: true } : {}),
    // No retries beneath us: outbox, reconciler and schedules try again by themselves, a call that fails fast is theirs sooner,
    // and the SDK's own retry throws out of a timer when the connection is closed meanwhile.
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
