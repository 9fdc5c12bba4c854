import { existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { diskAdvice, SetupError } from '../setup-error.ts';
import { runToEnd } from './child.ts';
import { choosePort } from './ports.ts';
import { giveFolder, type PostgresUser, postgresUser } from './postgres-user.ts';
import { createRestartable } from './restartable.ts';
import { type LocalService, plainEnv, type ServiceContext } from './service.ts';

const majorVersion = '18';
const superuser = 'postgres';
const database = 'longhaul';

/**
 * PostgreSQL from the wheel: one cluster in `<state>/postgres`, created at the first start, TCP on 127.0.0.1 only (a socket's path is
 * limited to 107 bytes, a clone's is not), password of the superuser in the state folder. Address: the URL of database `longhaul`.
 */
export async function localPostgres(context: ServiceContext): Promise<LocalService<string>> {
  const { state, env, binaries, isEphemeral } = context;
  const port = await choosePort(state, 'postgres', env['LONGHAUL_POSTGRES_PORT']);
  const dataFolder = state.path('postgres');
  const user = postgresUser();
  const urlOf = (name: string) => `postgres://${superuser}:${state.secret('postgres')}@127.0.0.1:${port}/${name}`;
  let isDatabaseKnown = false;

  const restartable = createRestartable(
    {
      name: 'postgres',
      command: {
        name: 'postgres',
        file: join(binaries.postgresFolder, 'postgres'),
        args: ['-D', dataFolder, ...settingArgs(port, isEphemeral)],
        env: plainEnv(env),
        cwd: state.dir,
        logFile: state.path('logs', 'postgres.log'),
        userPrefix: user.prefix,
        deathSignal: 'SIGINT',
      },
      async beforeStart() {
        await makeCluster(context, dataFolder, user);
        dropStaleLock(dataFolder);
      },
      async isReady() {
        if (!isDatabaseKnown) await makeDatabase(urlOf('postgres'));
        await query(urlOf(database), 'select 1');
        return (isDatabaseKnown = true);
      },
      readyTimeoutMs: 60_000,
      stopSignal: 'SIGINT',
      graceMs: 20_000,
    },
    context.onChange,
  );

  return { address: urlOf(database), restartable };
}

function settingArgs(port: number, isEphemeral: boolean): string[] {
  const durable = { max_wal_size: '2GB' };
  const ephemeral = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_wal_size: '4GB',
  };
  const settings: Record<string, string | number> = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 300,
    shared_buffers: '256MB',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(isEphemeral ? ephemeral : durable),
  };

  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Created under another name and renamed, so that an interrupted initdb leaves no partial cluster. */
async function makeCluster(context: ServiceContext, dataFolder: string, user: PostgresUser): Promise<void> {
  if (existsSync(dataFolder)) {
    refuseOtherVersion(dataFolder);
    return giveFolder(dataFolder, user);
  }

  const unfinished = `${dataFolder}.unfinished`;
  const failures: string[] = [];
  for (const locale of ['C.UTF-8', 'en_US.UTF-8', 'C']) {
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { mode: 0o700 });
    giveFolder(unfinished, user);

    const failure = await runInitdb(context, { folder: unfinished, locale, user });
    if (failure === null) return renameSync(unfinished, dataFolder);
    failures.push(failure);
  }

  const [failure = ''] = failures;
  throw new SetupError(`${diskAdvice(failure, context.state.dir)}initdb failed:\n${failure}`);
}

/**
 * Sorting and case come from PostgreSQL's own C.UTF-8, equal on all machines; `locale` is only what the system must provide for
 * character classes, and not every system has a C.UTF-8. Returns the output of a failure, else null.
 */
async function runInitdb(
  { state, env, binaries }: ServiceContext,
  { folder, locale, user }: { folder: string; locale: string; user: PostgresUser },
): Promise<string | null> {
  const passwordFile = state.path('postgres.password');
  writeFileSync(passwordFile, `${state.secret('postgres')}\n`, { mode: 0o600 });
  const flags = ['--username', superuser, '--pwfile', passwordFile, '--auth', 'scram-sha-256', '--encoding', 'UTF8', '--no-instructions'];
  const locales = ['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', locale];

  try {
    const argv = [...user.prefix, join(binaries.postgresFolder, 'initdb'), '-D', folder, ...flags, ...locales];
    const { code, output } = await runToEnd(argv, plainEnv(env));
    return code === 0 ? null : output.trim();
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

function refuseOtherVersion(dataFolder: string): void {
  const found = readFileSync(join(dataFolder, 'PG_VERSION'), 'utf8').trim();
  if (found !== majorVersion)
    throw new SetupError(
      `${dataFolder} was created by PostgreSQL ${found}, but this is ${majorVersion}. Dump it with the old version, remove it, and restore it.`,
    );
}

/**
 * PostgreSQL won't start while the process named in its lock file is alive. After a reboot, that pid often belongs to another program;
 * every process of a cluster has the data folder as its working directory, so if no process does, the file is stale.
 */
function dropStaleLock(dataFolder: string): void {
  const lock = join(dataFolder, 'postmaster.pid');
  if (process.platform !== 'linux' || !existsSync(lock)) return;

  const folder = realpathSync(dataFolder);
  const isInUse = readdirSync('/proc').some((pid) => /^\d+$/.test(pid) && workingFolder(pid) === folder);
  if (!isInUse) rmSync(lock);
}

function workingFolder(pid: string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

async function makeDatabase(url: string): Promise<void> {
  const found = await query(url, 'select 1 from pg_database where datname = $1', [database]);
  if (found === 0) await query(url, `create database ${database}`);
}

/** Opens a complete connection, as a client does, and returns the number of rows. */
async function query(url: string, text: string, values: readonly string[] = []): Promise<number> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query(text, [...values]);
    return rows.length;
  } catch (error) {
    const invalidPassword = '28P01';
    if (error instanceof pg.DatabaseError && error.code === invalidPassword) {
      throw new SetupError(
        'The saved PostgreSQL password (secrets.json in the state folder) is not the one with which its data was created.',
      );
    }
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}
