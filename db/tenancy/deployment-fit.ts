import { migrationNames } from '../migrations/index.ts';
import { appliedMigrations, type Databases } from '../orm.ts';
import { refuseOtherKeks, type Keks } from './envelope.ts';

/** The database is not one that this code can work on; the message says what to do. */
export class OtherSchemaError extends Error {
  override readonly name = 'OtherSchemaError';
}

/**
 * Looks whether the database is the one of this code and of these keys, before a process takes work from it.
 * @throws OtherSchemaError when its schema is older or newer, OtherKeksError when the deployment keys open nothing of it.
 */
export async function refuseStrangeDatabase(db: Databases, keys: Keks): Promise<void> {
  const applied = await appliedMigrations(db);
  const missing = migrationNames.filter((name) => !applied.includes(name));
  const unknown = applied.filter((name) => !migrationNames.includes(name));
  if (missing.length > 0)
    throw new OtherSchemaError(`The database lacks the migrations ${missing.join(', ')}: run \`longhaul migrate\` of this version first.`);
  if (unknown.length > 0)
    throw new OtherSchemaError(`The database has migrations of a newer version: ${unknown.join(', ')}. Start that version of the worker.`);
  await refuseOtherKeks(db, keys);
}
