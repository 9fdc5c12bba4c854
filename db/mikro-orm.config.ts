import type { EntityMetadata, MetadataStorage } from '@mikro-orm/core';
import { defineConfig, type Options } from '@mikro-orm/postgresql';
import type { Dialect } from 'kysely';
import type { Logger } from 'pino';
import { entities } from './entities.ts';

export interface OrmSettings {
  readonly url: string;
  readonly dialect: Dialect;
  readonly log: Pick<Logger, 'debug'>;
  /** Sees every statement, for counting in tests. */
  readonly onQuery?: (sql: string, parameters: readonly unknown[]) => void;
}

/** What MikroORM makes of the entities: the same for every instance, and 50 ms of work. */
let discovered: MetadataStorage | null = null;

/** The options that all our MikroORM instances share. The first of a process discovers the entities, the others take what it has found. */
export function ormOptions({ url, dialect, log, onQuery }: OrmSettings): Options {
  return defineConfig({
    entities: discovered ? [] : [...entities],
    clientUrl: url,
    driverOptions: dialect,
    sessionContext: 'transaction',
    // Migrations alone make a database; no other process asks for it.
    ensureDatabase: false,
    // The comparator would drop the functions and views it doesn't know, and foreign keys stand in tenant-keys.ts.
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

// A nullable property left out of `em.create` would stay undefined until the row is read again, against its type.
function startNullsAsNull(meta: EntityMetadata): void {
  for (const property of meta.props) {
    if (property.nullable) property.onCreate ??= () => null;
  }
}
