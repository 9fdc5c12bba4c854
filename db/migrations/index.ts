import type { MigrationObject } from '@mikro-orm/core';
import { Spine } from './0001-spine.ts';

/** All migrations in their order; forward only, and a released one never changes. */
export const migrations: MigrationObject[] = [{ name: '0001-spine', class: Spine }];

export const migrationNames: readonly string[] = migrations.map((migration) => migration.name);
