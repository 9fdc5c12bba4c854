import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openStage, type Stage } from '../access/stage.ts';
import { credentialNames } from './credentials.ts';
import { play } from './play.ts';

// CI plays a few requests an operation with one credential; `npm run test:fuzz` plays all (CONTRIBUTING.md).
const isWhole = process.env['FUZZ_WHOLE'] === '1';
const chosen = process.env['FUZZ_CREDENTIAL'];
const seed = Number(process.env['FUZZ_SEED'] ?? 1);
const operation = process.env['FUZZ_OPERATION'] ?? null;
const examples = Number(process.env['FUZZ_EXAMPLES'] ?? (isWhole ? 20 : 2));
const credentials = credentialNames.filter((name) => (chosen === undefined ? isWhole || name === 'owner' : name === chosen));

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ isUnchecked: true });
});
afterAll(() => stage?.close());

test.each(credentials)(
  'no request, valid or not, gets a fault of the server or a reply that the document does not declare, as %s',
  async (credential) => {
    const phases = isWhole ? ['examples', 'coverage', 'fuzzing'] : ['fuzzing'];
    const { faults, operations, requests } = await play(stage, { credential, seed, examples, phases, isWhole, operation });

    expect(faults).toEqual([]);
    expect(operations).toBe(operation === null ? stage.operations.length : 1);
    expect(requests).toBeGreaterThan(operations);
  },
  6 * 3_600_000,
);
