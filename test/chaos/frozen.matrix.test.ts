import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { everyFrozen } from './faults/freezes.ts';
import { freezeUnderLoad } from './freeze-row.ts';

// One short freeze of each kind, one after the other under one load.
let own: OwnServices;
beforeAll(async () => {
  own = await ownServices('frozen');
}, 180_000);
afterAll(() => own?.stop(), 60_000);

test('each process, each service and several at once are frozen for 6 s under mixed runs: no run fails for it', async () => {
  const { counts, faults } = await freezeUnderLoad(own, { frozen: everyFrozen, seconds: 6, runs: 40, overMs: 70_000 });

  expect(faults).toEqual([]);
  expect(counts).toMatchObject({ failed: 0, unanswered: 0, lostRuns: 0, frames: { lost: 0, doubled: 0 } });
}, 1_500_000);
