import Type, { type Static } from 'typebox';
import { healthComponents, type HealthState } from './health.ts';
import { closed, integer, listOf, nullable, oneOf } from '../http/input/schema.ts';

export const HealthView = closed(
  {
    status: oneOf(['ok', 'degraded', 'unavailable']),
    draining: Type.Boolean({ description: 'Whether the process is shutting down' }),
    checks: listOf(
      closed({
        name: oneOf(healthComponents),
        status: oneOf(['ok', 'failed', 'skipped']),
        latency_ms: nullable(integer({ maximum: 60_000 })),
      }),
      { maxItems: 10, description: 'Empty if nothing is checked' },
    ),
  },
  { $id: 'HealthView', description: 'The state of one process' },
);

export function toHealthView(state: HealthState): Static<typeof HealthView> {
  return {
    status: state.status,
    draining: state.draining,
    checks: state.checks.map((check) => ({ name: check.name, status: check.status, latency_ms: check.latency_ms })),
  };
}
