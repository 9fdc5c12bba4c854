import type { EntityMetadata, MetadataStorage } from '@mikro-orm/core';
import { defineConfig, type Options } from '@mikro-orm/postgresql';
import type { Dialect } from 'kysely';
import type { Logger } from 'pino';
import { entities } from './entities.ts';

export interface OrmSettings {
  readonly url: string;
  readonly dialect: Dialect;
  readonly log: Pick<Logger, 'debug'>;
  /** Receives every statement, so that tests can count them. */
  readonly onQuery?: (sql: string, parameters: readonly unknown[]) => void;
}

/** The metadata that MikroORM discovers from the entities: identical for every instance, and 50 ms of work. */
let discovered: MetadataStorage | null = null;

/** Returns the options that all our MikroORM instances share. The first instance of a process discovers the entities; the others reuse its result. */
export function ormOptions({ url, dialect, log, onQuery }: OrmSettings): Options {
  return defineConfig({
    entities: discovered ? [] : [...entities],
    clientUrl: url,
    driverOptions: dialect,
    sessionContext: 'transaction',
    // Only migrations create a database.
    ensureDatabase: false,
    // The comparator would drop functions and views that it doesn't know; foreign keys are defined in tenant-keys.ts.
    schemaGenerator: { ignoreRoutines: true, skipViews: [/^knowledge_live_/], createForeignKeyConstraints: false },
    discovery: { warnWhenNoEntities: false, onMetadata: (meta) => startNullsAsNull(meta), afterDiscovered: shareDiscovered },
    logger: (message) => log.debug(message),
    onQuery: (sql: string, parameters: readonly unknown[]) => {
      onQuery?.(sql, parameters);
      return sql;
    },
  });
}

function shareDiscovered(storage: MetadataStorage): void {
  for (const meta of discovered ?? []) storage.set(meta.class, meta);
  discovered ??= storage;
}

// A nullable property left out of `em.create` would stay undefined until the row is read again, which contradicts its type.
function startNullsAsNull(meta: EntityMetadata): void {
  for (const property of meta.props) {
    if (property.nullable) property.onCreate ??= () => null;
  }
}
