import { forgetReplies } from '../../domain/http/idempotency.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { toEnvelope } from '../http/reply/error-envelope.ts';
import type { Ctx } from '../http/operation/operation.ts';

/**
 * Replies under an Idempotency-Key hold the view of a run for a day: those that show a purged one become the 404 that the run itself answers now. A key stays
 * used, so that a repeat starts nothing; of a batch only the run's own item goes.
 */
export function eraseReplies(ctx: Ctx, runIds: readonly string[]): Promise<void> {
  return forgetReplies(ctx, runIds, toEnvelope(fail('not_found'), { publicUrl: ctx.deps.env.publicUrl, correlationId: ctx.correlationId }));
}
