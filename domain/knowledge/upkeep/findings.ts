import { creatorOf } from '../../../db/actor-ref.ts';
import { lockFinding, readFinding } from '../../../db/knowledge/upkeep/findings.ts';
import type { KnowledgeFinding } from '../../../db/knowledge/upkeep/knowledge-finding.entity.ts';
import { readPolicy } from '../../../db/knowledge/bases/maintained-base.ts';
import { assertActive, type Changing } from '../../../db/scope.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { requireBase } from '../bases/base-rights.ts';
import { refuseFrozenBase } from '../bases/frozen-base.ts';
import { resolveFinding, undoResolution, type Resolution } from './resolve-finding.ts';

/** The requested action on a finding; `undo` opens it again. */
export type FindingRequest = Omit<Resolution, 'by' | 'now' | 'action'> & { readonly action: Resolution['action'] | 'undo' };

/**
 * Applies an action to a finding that the caller sees.
 * @throws 404; 403 without curate on its base; 423 for a frozen one; 422 and 409 as `resolveFinding` and `undoResolution`.
 */
export async function settleFinding(
  ctx: Changing,
  findingId: string,
  { action, ...rest }: FindingRequest,
  now: Date,
): Promise<KnowledgeFinding> {
  const { kbId } = await readFinding(ctx, findingId);
  const base = await requireBase(ctx, kbId, { right: 'curate', isLocked: true });
  await assertActive(ctx.em, base);
  refuseFrozenBase(base);
  const finding = await lockFinding(ctx, findingId);
  if (finding === null) throw fail('not_found');
  if (action === 'undo') {
    const { retentionDays } = await readPolicy(ctx, kbId);
    await undoResolution(ctx, { base, finding }, { retentionDays, now });
  } else await resolveFinding(ctx, { base, finding }, { ...rest, action, by: creatorOf(ctx.actor), now });
  return finding;
}
