import { fail } from '../../workflows/contracts/failure.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { readToolkitOfCall } from '../../db/mcp/consent-of-call.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { CheckedResolution } from '../../db/approvals/question-rows.ts';
import { storeCode } from '../../db/mcp/consents.ts';

/** Stores the code of a consent, encrypted, for the call that exchanges it. Throws 422 for a state that does not belong to this call's consent. */
export async function takeConsent(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'keks'>,
  { approval, resolution, subjectId, pointer }: CheckedResolution,
): Promise<void> {
  const toolkitId = approval.toolCallId === null ? null : await readToolkitOfCall(tx, approval.toolCallId);
  const { code, state } = codeOf(resolution.response);
  if (toolkitId === null || subjectId === null) throw refused(`${pointer}/response/state`);
  const isTaken = await storeCode(tx, keys, { toolkitId, principal: { kind: 'user', id: subjectId }, code, state });
  if (!isTaken) throw refused(`${pointer}/response/state`);
}

/** The response matches the question's schema, which requires both. */
function codeOf(response: unknown): { readonly code: string; readonly state: string } {
  const read = (name: string) => (response !== null && typeof response === 'object' ? String(Reflect.get(response, name)) : '');
  return { code: read('code'), state: read('state') };
}

function refused(pointer: string) {
  const message = 'is unknown, used, expired or belongs to another consent';
  return fail('validation_failed', {
    detail: 'The answer does not belong to a pending consent.',
    errors: [{ in: 'body', pointer, name: null, rule: 'state', message }],
  });
}
