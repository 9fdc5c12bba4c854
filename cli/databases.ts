import { pino } from 'pino';
import { parseKeyRing, type KeyRing } from '../db/key-ring.ts';
import { connectDatabases } from '../db/orm.ts';
import type { Databases } from '../db/databases.ts';
import type { CliEnv } from './env.ts';

/** What a command beside a deployment works with. */
export interface Attached {
  readonly db: Databases;
  readonly keys: KeyRing;
  /** The variables of the deployment's processes. */
  readonly variables: CliEnv;
}

const quiet = pino({ level: 'warn' });

/** Does work on the database of a deployment whose variables are known. */
export async function withDatabases<R>(variables: CliEnv, work: (attached: Attached) => Promise<R>): Promise<R> {
  const db = await connectDatabases({
    appUrl: variables['DATABASE_APP_URL'] ?? '',
    sweeperUrl: variables['DATABASE_SWEEPER_URL'] ?? '',
    poolMax: 2,
    sweeperPoolMax: 2,
    applicationName: 'longhaul-cli',
    log: quiet,
  });
  try {
    return await work({ db, keys: parseKeyRing(variables), variables });
  } finally {
    await db.close();
  }
}
