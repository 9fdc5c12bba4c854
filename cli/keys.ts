import { OtherKeksError } from '../db/envelope.ts';
import { replaceSigningKey } from '../domain/identity/keys/signing-key-rotation.ts';
import { rotateKeys } from '../domain/tenancy/rotate-keys.ts';
import { withDeployment } from './attach.ts';
import type { CliEnv } from './env.ts';
import { SetupError } from './setup-error.ts';

interface Command {
  readonly env: CliEnv;
  readonly log: (line: string) => void;
}

/**
 * `longhaul keys rotate [--reencrypt]`: wraps every data key under the newest of LONGHAUL_KEKS; with `--reencrypt` creates new data keys and
 * encrypts every value again under them. Can be stopped at any point and repeated. Returns false (exit 1) if a value cannot be decrypted.
 */
export async function keysRotate({ env, log, reencrypt }: Command & { readonly reencrypt: boolean }): Promise<boolean> {
  return withDeployment({ env, log }, async ({ db, keys }) => {
    const rotated = await rotateKeys(db, keys, { reencrypt }).catch(lackedKey);

    log(`${rotated.rewrapped} data keys wrapped under ${keys.keks[0].id}.`);
    if (reencrypt) log(`${rotated.renewed} data keys renewed, ${rotated.reencrypted} values encrypted again.`);
    for (const { table, key } of rotated.undecrypted) log(`Cannot be decrypted and was left unchanged: ${table} ${key}`);
    return rotated.undecrypted.length === 0;
  });
}

/** The one fault that the person at the keyboard can mend. */
function lackedKey(error: unknown): never {
  if (error instanceof OtherKeksError) {
    throw new SetupError(`${error.message} Name it after the newest one, and run this again.`);
  }
  throw error;
}

/** `longhaul keys rotate --signing`: a new key signs access tokens from now on; tokens signed by the old one remain valid until they expire. */
export async function rotateSigningKey({ env, log }: Command): Promise<void> {
  await withDeployment({ env, log }, async ({ db, keys }) => {
    const kid = await replaceSigningKey(db, keys);
    log(`Every process will sign access tokens with ${kid} within two minutes.`);
  });
}
