import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openStage, type Stage } from '../access/stage.ts';
import { credentialNames } from './credentials.ts';
import { play } from './play.ts';

// `npm run test:fuzz` plays it (CONTRIBUTING.md).
const chosen = process.env['FUZZ_CREDENTIAL'];
const seed = Number(process.env['FUZZ_SEED'] ?? 1);
const operation = process.env['FUZZ_OPERATION'] ?? null;
const examples = Number(process.env['FUZZ_EXAMPLES'] ?? 20);
const credentials = credentialNames.filter((name) => chosen === undefined || name === chosen);

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ isUnchecked: true });
  await giveStorageKeys(stage);
});
afterAll(() => stage?.close());

test.each(credentials)(
  'no request, valid or not, gets a fault of the server or a reply that the document does not declare, as %s',
  async (credential) => {
    const { faults, operations, requests } = await play(stage, { credential, seed, examples, operation });

    expect(faults).toEqual([]);
    expect(operations).toBe(operation === null ? stage.operations.length : 1);
    expect(requests).toBeGreaterThan(operations);
  },
  6 * 3_600_000,
);

/** The world marks keys of files with canaries, which the storage takes for a bug of ours. Here they are keys under which nothing lies. */
async function giveStorageKeys({ world }: Stage): Promise<void> {
  await world.rows.query(`create function give_storage_key() returns trigger language plpgsql as $$
    begin
      new.storage_key := coalesce(new.organization_id, new.id) || '/' || lpad(replace(new.id::text, '-', ''), 48, '0');
      return new;
    end $$`);
  await world.rows.query(`create trigger give_storage_key before insert or update on attachments for each row
    when (new.storage_key like 'canary.%') execute function give_storage_key()`);
  await world.rows.query('update attachments set storage_key = storage_key');
}
