import Type, { type Static } from 'typebox';
import { coalescedPayloads, coalescingModes, type Coalescing as Stored } from '../../db/webhooks/webhook-endpoint.entity.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import { closed, given, integer, nullable, oneOf, stating, text } from '../http/input/schema.ts';
import { pointerForm } from '../../domain/webhooks/endpoint-rules.ts';

export const Coalescing = stating(
  closed(
    {
      mode: oneOf(['none', ...coalescingModes], {
        description:
          'none: one run per delivery; debounce: one run once no delivery has arrived for the window; throttle: one run per window, the first at once; batch: one run for all deliveries in the window',
      }),
      key_template: Type.Optional(nullable(text(400, { description: 'Deliveries with the same key are grouped; null: all are' }))),
      event_time_path: Type.Optional(
        nullable(
          stating(
            {
              ...text(400, {
                description:
                  'JSON pointer to the sender’s timestamp in the body, RFC 3339 or Unix; determines which delivery is first and last',
              }),
              examples: ['/created_at'],
            },
            { pattern: pointerForm.source },
          ),
        ),
      ),
      window_seconds: Type.Optional(integer({ minimum: 1, maximum: 3_600, description: 'Required unless mode is none' })),
      max_wait_seconds: Type.Optional(
        nullable(
          integer({
            minimum: 2,
            maximum: 86_400,
            description: 'Only with debounce: the maximum wait of the first delivery; null: ten windows',
          }),
        ),
      ),
      payload: Type.Optional(
        oneOf(coalescedPayloads, { description: 'Which delivery’s data templates use; all: each as one of `items`. Defaults to last' }),
      ),
      max_batch: Type.Optional(
        integer({
          minimum: 1,
          maximum: 500,
          description: 'With batch, or when all deliveries are used: the maximum number of deliveries per run. Defaults to 100',
        }),
      ),
    },
    { $id: 'CoalescingConfig', description: 'How deliveries become one run' },
  ),
  { anyOf: [{ properties: { mode: { const: 'none' } } }, given('window_seconds')] },
);
const windowsToWait = 10;
const maxWaitSeconds = 86_400;

/** Coalescing as it is stored; null: each delivery is a run. Throws 422 without a window. */
export function coalescingOf(given: Static<typeof Coalescing>): Stored | null {
  const { mode, window_seconds: windowSeconds } = given;
  if (mode === 'none') return null;
  if (windowSeconds === undefined) throw invalid('/coalescing/window_seconds', 'required', 'is required unless mode is none');
  const byDefault = mode === 'debounce' ? Math.min(windowsToWait * windowSeconds, maxWaitSeconds) : null;
  return {
    mode,
    keyTemplate: given.key_template ?? null,
    eventTimePath: given.event_time_path ?? null,
    windowSeconds,
    maxWaitSeconds: given.max_wait_seconds ?? byDefault,
    payload: given.payload ?? 'last',
    maxBatch: given.max_batch ?? 100,
  };
}

/** The wire form of coalescing. */
export function toCoalescingView(coalescing: Stored | null): Static<typeof Coalescing> {
  if (coalescing === null) return { mode: 'none' };
  return {
    mode: coalescing.mode,
    key_template: coalescing.keyTemplate,
    event_time_path: coalescing.eventTimePath,
    window_seconds: coalescing.windowSeconds,
    max_wait_seconds: coalescing.maxWaitSeconds,
    payload: coalescing.payload,
    max_batch: coalescing.maxBatch,
  };
}
