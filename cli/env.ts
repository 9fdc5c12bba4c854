import { join, resolve } from 'node:path';

/** Folder of the checkout. */
export const root = resolve(import.meta.dirname, '..');

export type CliEnv = Readonly<Record<string, string | undefined>>;

/** The environment of this process. */
export function processEnvironment(): CliEnv {
  return process.env;
}

/** An environment as the commands take it. Where it names the owner's URL alone, as `longhaul env` prints it, that is the database's. */
export function completed(env: CliEnv): CliEnv {
  const { DATABASE_URL: databaseUrl, DATABASE_OWNER_URL: ownerUrl } = env;
  return databaseUrl || !ownerUrl ? env : { ...env, DATABASE_URL: ownerUrl };
}

/** Where data, ports and secrets of this machine's deployment are kept. */
export function stateDirOf(env: CliEnv): string {
  return resolve(env['LONGHAUL_STATE_DIR'] ?? join(root, '.longhaul'));
}

/** The currency that calls are priced in. */
export function billingCurrencyOf(variables: CliEnv): string {
  return variables['BILLING_CURRENCY'] || 'USD';
}
