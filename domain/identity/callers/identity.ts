import type { Logger } from 'pino';
import type { Databases } from '../../../db/databases.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import { createUseRecorder, type UseRecorder } from '../factors/use-recorder.ts';
import { createOauthTokens, resourcesOf, type OauthTokens } from './oauth-tokens.ts';
import { createPasswords, type PasswordHashing, type Passwords } from '../../../db/identity/factors/passwords.ts';
import { createSessionTokens, type SessionTokens } from '../sessions/session-tokens.ts';
import { createSigningKeys, type SigningKeys } from '../keys/signing-keys.ts';

/** The identity services of a process. None of them caches a decision about a credential. */
export interface Identity {
  readonly signingKeys: SigningKeys;
  readonly tokens: SessionTokens;
  readonly oauthTokens: OauthTokens;
  readonly passwords: Passwords;
  readonly uses: UseRecorder;
  /** Creates the first signing key when there is none. */
  start(): Promise<void>;
  /** Writes the pending marks. */
  close(): Promise<void>;
}

export function createIdentity(options: {
  db: Databases;
  keys: KeyRing;
  publicUrl: string;
  hashing: PasswordHashing;
  log: Logger;
  now: () => Date;
}): Identity {
  const { db, keys, publicUrl, hashing, log, now } = options;
  const signingKeys = createSigningKeys({ db, keys, now });
  const uses = createUseRecorder({ db, log, now });

  return {
    signingKeys,
    tokens: createSessionTokens({ signingKeys, publicUrl, now }),
    oauthTokens: createOauthTokens({ signingKeys, publicUrl, now, resources: Object.values(resourcesOf(publicUrl)) }),
    passwords: createPasswords(hashing),
    uses,
    start: () => signingKeys.ensure(),
    close: async () => {
      signingKeys.close();
      await uses.close();
    },
  };
}
