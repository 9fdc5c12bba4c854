import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { freezes, frozenFaults } from './checks/frozen.ts';
import { openStage, type Stage } from './stage.ts';
import { lines } from './told.ts';

jest.setTimeout(900_000);

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

test.each(freezes)('every write is refused while $reason, but for what stays open', async (freeze) => {
  expect(lines(await frozenFaults(stage, freeze))).toEqual([]);
});
