import Type, { type Static } from 'typebox';
import { healthComponents, type HealthState } from './health.ts';
import { closed, integer, listOf, nullable, oneOf } from '../http/input/schema.ts';

export const HealthView = closed(
  {
    status: oneOf(['ok', 'degraded', 'unavailable']),
    draining: Type.Boolean({ description: 'The process has been told to end' }),
    checks: listOf(
      closed({
        name: oneOf(healthComponents),
        status: oneOf(['ok', 'failed', 'skipped']),
        latency_ms: nullable(integer({ maximum: 60_000 })),
      }),
      { maxItems: 10, description: 'Empty where nothing is looked at' },
    ),
  },
  { $id: 'HealthView', description: 'What a probe learns about one process' },
);

export function toHealthView(state: HealthState): Static<typeof HealthView> {
  return {
    status: state.status,
    draining: state.draining,
    checks: state.checks.map((check) => ({ name: check.name, status: check.status, latency_ms: check.latency_ms })),
  };
}
