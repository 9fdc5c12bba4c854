import { readdirSync } from 'node:fs';
import { Migration } from '@mikro-orm/migrations';
import type { MigrationObject } from '@mikro-orm/core';
import { sqlFiles } from './statements.ts';

const here = new URL('./', import.meta.url);

/** Names of all migrations in their order: the numbered folders beside this file. Forward only, and a released one never changes. */
export const migrationNames: readonly string[] = readdirSync(here)
  .filter((name) => /^\d{4}-[a-z-]+$/.test(name))
  .toSorted();

export const migrations: MigrationObject[] = migrationNames.map((name) => ({ name, class: migrationOf(name) }));

/** Runs the SQL files of one folder. */
function migrationOf(name: string) {
  return class extends Migration {
    override up(): void {
      for (const sql of sqlFiles(new URL(`${name}/`, here))) this.addSql(sql);
    }
  };
}
