import { join, resolve } from 'node:path';

/** Folder of the checkout. */
export const root = resolve(import.meta.dirname, '..');

export type CliEnv = Readonly<Record<string, string | undefined>>;

/** The environment of this process. */
export function processEnvironment(): CliEnv {
  return process.env;
}

/** Returns an environment as the commands expect it. If it has only the owner's URL, as printed by `longhaul env`, that becomes the database URL. */
export function completed(env: CliEnv): CliEnv {
  const { DATABASE_URL: databaseUrl, DATABASE_OWNER_URL: ownerUrl } = env;
  return databaseUrl || !ownerUrl ? env : { ...env, DATABASE_URL: ownerUrl };
}

/** The folder for data, ports and secrets of this machine's deployment. */
export function stateDirOf(env: CliEnv): string {
  return resolve(env['LONGHAUL_STATE_DIR'] ?? join(root, '.longhaul'));
}

/** The currency in which calls are priced. */
export function billingCurrencyOf(variables: CliEnv): string {
  return variables['BILLING_CURRENCY'] || 'USD';
}
