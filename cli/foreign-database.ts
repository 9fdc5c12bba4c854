import type { CliEnv } from './env.ts';
import { findRunningServices } from './services/index.ts';
import { SetupError } from './setup-error.ts';

/** Names that all refer to this machine. */
const local: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * A command works on the deployment that runs from the state folder; if its shell names another database, it would get answers from the wrong one.
 * @throws SetupError if DATABASE_URL names another database than that of the running deployment.
 */
export function refuseForeignDatabase(stateDir: string, env: CliEnv): void {
  const { DATABASE_URL: wanted } = env;
  const running = findRunningServices(stateDir);
  if (!wanted || running === null || targetOf(wanted) === targetOf(running.databaseUrl)) return;
  throw new SetupError(
    `DATABASE_URL names ${targetOf(wanted)}, but the deployment that runs from ${stateDir} uses ${targetOf(running.databaseUrl)}. ` +
      'Unset it to work on that one, or set LONGHAUL_STATE_DIR to the folder of the other.',
  );
}

/** Host, port and database of a URL, without its user and password. */
function targetOf(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  // The folder of a socket is given as a query parameter.
  const host = searchParams.get('host') ?? hostname;
  return `${local.has(host) ? 'localhost' : host}:${port || '5432'}${pathname}`;
}
