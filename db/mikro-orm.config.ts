import type { EntityMetadata } from '@mikro-orm/core';
import { defineConfig, type Options } from '@mikro-orm/postgresql';
import type { Dialect } from 'kysely';
import type { Logger } from 'pino';
import { entities } from './entities.ts';

export interface OrmSettings {
  readonly url: string;
  readonly dialect: Dialect;
  readonly log: Pick<Logger, 'debug'>;
  /** Sees every statement, for counting in tests. */
  readonly onQuery?: (sql: string) => void;
}

/** The options that all our MikroORM instances share. */
export function ormOptions({ url, dialect, log, onQuery }: OrmSettings): Options {
  return defineConfig({
    entities: [...entities],
    clientUrl: url,
    driverOptions: dialect,
    sessionContext: 'transaction',
    // The comparator would drop the functions it doesn't know, and foreign keys stand in tenant-keys.ts.
    schemaGenerator: { ignoreRoutines: true, createForeignKeyConstraints: false },
    discovery: { onMetadata: (meta) => startNullsAsNull(meta) },
    logger: (message) => log.debug(message),
    onQuery: (sql: string) => {
      onQuery?.(sql);
      return sql;
    },
  });
}

// A nullable property left out of `em.create` would stay undefined until the row is read again, against its type.
function startNullsAsNull(meta: EntityMetadata): void {
  for (const property of meta.props) {
    if (property.nullable) property.onCreate ??= () => null;
  }
}
