import { replaceSigningKey } from '../domain/identity/keys/signing-key-rotation.ts';
import { withDeployment } from './attach.ts';
import type { CliEnv } from './env.ts';

/** `longhaul keys rotate --signing`: a new key signs access tokens from now on; tokens signed by the old one remain valid until they expire. */
export async function rotateSigningKey({ env, log }: { readonly env: CliEnv; readonly log: (line: string) => void }): Promise<void> {
  await withDeployment({ env, log }, async ({ db, keys }) => {
    const kid = await replaceSigningKey(db, keys);
    log(`Every process will sign access tokens with ${kid} within two minutes.`);
  });
}
