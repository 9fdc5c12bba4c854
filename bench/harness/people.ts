import { createSessionTokens } from '../../domain/identity/sessions/session-tokens.ts';
import { createSigningKeys } from '../../domain/identity/keys/signing-keys.ts';
import type { Stack } from '../../test/support/stack.ts';
import { makeUser } from '../../test/support/tenant.ts';

/** Access tokens of so many viewers of a deployment's first workspace. */
export async function makeViewers(stack: Stack, count: number): Promise<string[]> {
  const now = () => new Date();
  const signingKeys = createSigningKeys({ db: stack.db, keys: stack.keys, now });
  await signingKeys.ensure();
  const tokens = createSessionTokens({ signingKeys, publicUrl: stack.url(), now });
  const { organizationId, workspaceId } = stack.tenant;

  const issued: string[] = [];
  for (let n = 0; n < count; n++) {
    const user = await makeUser(stack.db, stack.keys, { role: 'viewer', scope: 'workspace', organizationId, workspaceId });
    issued.push((await tokens.issue({ userId: user.id, sessionId: user.sessionId })).token);
  }
  return issued;
}
