import { repliesNaming, replaceReply, type NamingReply } from '../../db/http/idempotency.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { toEnvelope } from '../http/error-envelope.ts';
import type { ErrorEnvelopeView } from '../http/error.schema.ts';
import type { Ctx } from '../http/operation.ts';

const problemType = 'application/problem+json; charset=utf-8';

/**
 * Replies under an Idempotency-Key hold the view of a run for a day: those that name a purged one become the 404 that the run itself answers now. A key stays
 * used, so that a repeat starts nothing; of a batch only the run's own item goes.
 */
export async function eraseReplies(ctx: Ctx, run: { readonly id: string; readonly organization_id: string }): Promise<void> {
  const found = await repliesNaming(ctx.em, { organizationId: run.organization_id, rowId: run.id, path: '/runs' });
  const gone = toEnvelope(fail('not_found'), { publicUrl: ctx.deps.env.publicUrl, correlationId: ctx.correlationId });
  for (const reply of found.filter(({ body }) => showsRun(parsed(body), run.id)))
    await replaceReply(ctx.em, reply.id, repliedInstead(reply, run.id, gone));
}

function repliedInstead(reply: NamingReply, runId: string, gone: ErrorEnvelopeView) {
  const batch = reply.route === '/runs/batch' ? batchWithout(reply.body, runId, gone) : null;
  if (batch !== null)
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: Buffer.from(batch), bodyKeyId: null };
  return { status: 404, headers: { 'content-type': problemType }, body: Buffer.from(JSON.stringify(gone)), bodyKeyId: null };
}

/** The reply to a batch with one run taken out; null when it is no such reply. */
function batchWithout(body: Buffer, runId: string, gone: ErrorEnvelopeView): string | null {
  const view = parsed(body);
  const items: unknown = typeof view === 'object' && view !== null ? Reflect.get(view, 'items') : null;
  if (!Array.isArray(items)) return null;
  return JSON.stringify({
    ...(view as object),
    items: items.map((item: unknown) => (showsRun(item, runId) ? { ...(item as object), run: null, error: gone } : item)),
  });
}

/** What people and models say may hold any id. */
const freeFields: ReadonlySet<string> = new Set(['input', 'output', 'metadata', 'args', 'edited_args', 'response']);
const idFields: ReadonlySet<string> = new Set(['id', 'run_id', 'root_run_id']);

/** Whether a view of the run, of one below it, or of something of theirs is in it: that it is mentioned does not count. */
function showsRun(value: unknown, runId: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, field]: [string, unknown]) =>
    idFields.has(name) ? field === runId : !freeFields.has(name) && showsRun(field, runId),
  );
}

function parsed(body: Buffer): unknown {
  return JSON.parse(body.toString()); // what we stored ourselves
}
