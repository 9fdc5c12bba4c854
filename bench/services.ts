import { startServices, type Services } from '../cli/services/index.ts';
import pg from 'pg';
import { Redis } from 'ioredis';
import { dropStaleDatabases, makeTemplate } from '../test/support/template.ts';
import { processEnvironment, publishServices, stateDir, wheelsDir } from './env.ts';

export interface BenchServices {
  /** Of PostgreSQL and Redis, for the results. */
  readonly versions: Readonly<Record<string, string>>;
  /** Those that were started here. */
  readonly children: Services['children'];
  stop(): Promise<void>;
}

/**
 * The services named in the environment, else our own; with a migrated template database, as tests have it. Durable ones flush each commit to the disk, as a
 * deployment does.
 */
export async function openServices(log: (line: string) => void, { isDurable }: { readonly isDurable: boolean }): Promise<BenchServices> {
  const services = await startServices({ stateDir, wheelsDir, env: processEnvironment(), isEphemeral: !isDurable, log });
  try {
    await dropStaleDatabases(services.databaseUrl);
    publishServices(services, await makeTemplate(services.databaseUrl));
    return { versions: await versionsOf(services), children: services.children, stop: () => services.stop() };
  } catch (error) {
    await services.stop();
    throw error;
  }
}

async function versionsOf({ databaseUrl, redisUrl }: { databaseUrl: string; redisUrl: string }): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>('show server_version');
  await client.end();
  const redis = new Redis(redisUrl);
  const valkey = /valkey_version:(\S+)/.exec(await redis.info('server'))?.[1] ?? 'unknown';
  redis.disconnect();
  return { PostgreSQL: rows[0]?.server_version ?? 'unknown', Valkey: valkey };
}
