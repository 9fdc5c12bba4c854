import type { Hook } from '../../db/webhooks/hooks.ts';
import type { FilledTexts } from '../../domain/webhooks/begin-run.ts';
import { publishesOnly } from '../../domain/webhooks/start-delivery.ts';
import { fillHook, fillKey, shownHeadersOf, shownQueryOf, type HookWarning, type SeenRequest } from '../../ports/hooks/texts.ts';
import type { Templates } from '../../ports/templates/templates.ts';

/** The result of rendering the endpoint's templates with a request. */
export interface FilledDelivery {
  /** Null: the run is filled when its group closes, or there is none. */
  readonly texts: FilledTexts | null;
  /** Null: it is not coalesced. */
  readonly coalesceKey: string | null;
  readonly warnings: readonly HookWarning[];
}

/**
 * Fills what the delivery of a request needs when it comes: its key where it is coalesced, and the texts of its run where one may start at once.
 * @throws TemplateError
 */
export async function fillDelivery(templates: Templates, hook: Hook, seen: SeenRequest): Promise<FilledDelivery> {
  if (publishesOnly(hook)) return { texts: null, coalesceKey: null, warnings: [] };
  const { coalescing } = hook;
  if (coalescing === null) return { ...(await fillHook(templates, hook, seen)), coalesceKey: null };

  const { key, warnings } = await fillKey(templates, { template: coalescing.keyTemplate, hook }, seen);
  if (coalescing.mode !== 'throttle') return { texts: null, coalesceKey: key, warnings };
  const own = coalescing.payload === 'all' ? { ...seen, items: [itemOf(seen)] } : seen;
  const filled = await fillHook(templates, hook, own);
  return { texts: filled.texts, coalesceKey: key, warnings: [...warnings, ...filled.warnings].slice(0, maxWarnings) };
}

const maxWarnings = 20;

/** A request as the only one of its group. */
export function itemOf({ request, body, now }: SeenRequest) {
  return { body, headers: shownHeadersOf(request), query: shownQueryOf(request), method: request.method, occurred_at: now.toISOString() };
}
