import { type DatabaseConnection, type Driver, PostgresDialect, PostgresDriver, type QueryResult, type TransactionSettings } from 'kysely';
import pg from 'pg';
import { parse as parseArray } from 'postgres-array';
import { PooledConnection, type SettledStatement, type Statement } from './pg-connection.ts';
import { createSilence, type Silence } from './pg-silence.ts';

export interface PoolSettings {
  readonly url: string;
  readonly max: number;
  readonly applicationName: string;
  /** Null: no limit. */
  readonly statementTimeoutMs: number | null;
  /** How long a statement may wait for a connection. */
  readonly acquireTimeoutMs: number;
  readonly onError: (error: Error) => void;
}

/** Connections of a pool, and statements that wait for one. */
export interface PoolUse {
  readonly inUse: number;
  readonly idle: number;
  readonly waiting: number;
  readonly max: number;
}

const lockTimeoutMs = 5_000;
/** After this time the server frees the locks of a frozen process. */
const idleInTransactionTimeoutMs = 10_000;

/** Creates the dialect of one pool, whose connections have our timeouts, and which loses no connection when a server dies in the middle of a transaction. */
export function createDialect(settings: PoolSettings): PoolDialect {
  const pool = new pg.Pool({
    connectionString: settings.url,
    max: settings.max,
    application_name: settings.applicationName,
    connectionTimeoutMillis: settings.acquireTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    ...(settings.statementTimeoutMs === null ? {} : { statement_timeout: settings.statementTimeoutMs }),
    types: createTypes(),
  });
  const reportLost = (error: Error) => {
    // The pool attaches the client, with everything that is known of the connection.
    Reflect.deleteProperty(error, 'client');
    if (!pool.ending) settings.onError(error);
  };
  // Without listeners, a connection that the server drops would end the process. For an idle connection the client reports the error too.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', reportLost));

  return new PoolDialect(new Connections(pool, createSilence(settings.statementTimeoutMs)), () => openOnce(settings));
}

/** Opens and closes a connection outside the pool: existing connections don't show whether the server still accepts the role. */
async function openOnce({ url, applicationName, acquireTimeoutMs, onError }: PoolSettings): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: applicationName, connectionTimeoutMillis: acquireTimeoutMs });
  client.on('error', onError);
  try {
    await client.connect();
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The pool's connections, wrapped as `PooledConnection`. */
class Connections {
  readonly pool: pg.Pool;
  readonly #silence: Silence;
  readonly #known = new WeakMap<pg.PoolClient, PooledConnection>();

  constructor(pool: pg.Pool, silence: Silence) {
    this.pool = pool;
    this.#silence = silence;
  }

  /** Takes a connection that answers, as far as is known; suspect ones are replaced. */
  async take(): Promise<PooledConnection> {
    for (;;) {
      const client = await this.pool.connect();
      if (!this.#silence.isSuspect(client)) return this.#ours(client);
      client.release(true);
    }
  }

  #ours(client: pg.PoolClient): PooledConnection {
    const known = this.#known.get(client) ?? new PooledConnection(client, this.#silence);
    this.#known.set(client, known);
    return known;
  }
}

/** Kysely's path to the pool, and a shorter one. */
export class PoolDialect extends PostgresDialect {
  readonly #connections: Connections;
  /** Throws the error that prevents the role from opening a connection. */
  readonly openOnce: () => Promise<void>;

  constructor(connections: Connections, open: () => Promise<void>) {
    super({ pool: connections.pool });
    this.#connections = connections;
    this.openOnce = open;
  }

  /** Returns the pool's current use. */
  use(): PoolUse {
    const { totalCount, idleCount, waitingCount, options } = this.#connections.pool;
    return { inUse: totalCount - idleCount, idle: idleCount, waiting: waitingCount, max: options.max };
  }

  override createDriver(): Driver {
    return new PoolDriver(this.#connections);
  }

  /** Runs one statement outside any transaction, bypassing all layers above the pool. */
  async runInAutocommit<R>(statement: Statement | SettledStatement): Promise<QueryResult<R>> {
    const connection = await this.#connections.take();
    try {
      return await connection.executeQuery<R>(statement);
    } finally {
      connection.client.release();
    }
  }
}

/**
 * Kysely's driver over our connections (see `PooledConnection`). A connection whose `rollback` fails, as happens whenever PostgreSQL restarts under it,
 * goes back to the pool, which drops it because it is dead; Kysely would never release it. A failed `commit` does not release the connection: our
 * transactions always roll back after one.
 */
class PoolDriver extends PostgresDriver {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    super({ pool: connections.pool });
    this.#connections = connections;
  }

  override acquireConnection(): Promise<PooledConnection> {
    return this.#connections.take();
  }

  override async releaseConnection(connection: DatabaseConnection): Promise<void> {
    const own = ours(connection);
    own.forgetWaiting();
    own.client.release();
  }

  override async beginTransaction(connection: DatabaseConnection, settings: TransactionSettings): Promise<void> {
    if (settings.isolationLevel || settings.accessMode) {
      await super.beginTransaction(connection, settings).catch((error: unknown) => this.#giveBack(connection, error));
    } else ours(connection).begin();
  }

  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await ours(connection).commit();
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (ours(connection).forgetWaiting()) return;
    await super.rollbackTransaction(connection).catch((error: unknown) => this.#giveBack(connection, error));
  }

  async #giveBack(connection: DatabaseConnection, error: unknown): Promise<never> {
    await this.releaseConnection(connection);
    throw error;
  }
}

/** Returns Kysely's connection as ours: our driver creates every connection that Kysely passes around. */
function ours(connection: DatabaseConnection): PooledConnection {
  if (!(connection instanceof PooledConnection)) throw new Error('a connection of another driver');
  return connection;
}

// date, timestamp, timestamptz and interval stay the database's text: exact, and what entities expect.
function createTypes() {
  const types = new pg.TypeOverrides();
  for (const oid of [1082, 1114, 1184, 1186]) types.setTypeParser(oid, (text: string) => text);
  for (const oid of [1182, 1115, 1185, 1187]) types.setTypeParser(oid, (text: string) => parseArray(text));
  types.setTypeParser(20, Number);
  return types;
}
