import { compareMigrations } from '../../orm.ts';
import type { Databases } from '../../databases.ts';
import { rows } from '../../sql.ts';
import { sweep } from '../../transaction.ts';
import { dataKeySamples, refuseOtherKeksOf, type Keks, type StoredKey } from '../../envelope.ts';

/** This code cannot work on the database; the message says what to do. */
export class OtherSchemaError extends Error {
  override readonly name = 'OtherSchemaError';
}

/**
 * Checks that the database belongs to this code and these keys, before a process takes work from it.
 * @throws OtherSchemaError when its schema is older or newer, OtherKeksError when the deployment keys cannot decrypt it.
 */
export async function refuseStrangeDatabase(db: Databases, keys: Keks): Promise<void> {
  const { pending, unknown } = await compareMigrations(db);
  if (pending.length > 0)
    throw new OtherSchemaError(`The database lacks the migrations ${pending.join(', ')}: run \`longhaul migrate\` of this version first.`);
  if (unknown.length > 0)
    throw new OtherSchemaError(`The database has migrations of a newer version: ${unknown.join(', ')}. Start that version of the worker.`);
  await refuseOtherKeks(db, keys);
}

/**
 * Checks that the deployment keys decrypt what the platform itself has encrypted, above all its signing keys: a process that can't belongs to another
 * deployment.
 * @throws OtherKeksError when one is missing or is another of the same id.
 */
export async function refuseOtherKeks(db: Databases, keys: Keks): Promise<void> {
  refuseOtherKeksOf(await sweep(db, (em) => rows<StoredKey>(em, dataKeySamples)), keys);
}
