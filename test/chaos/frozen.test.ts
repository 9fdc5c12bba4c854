import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { everyFrozen, type Frozen } from './faults/freezes.ts';
import { freezeUnderLoad } from './freeze-row.ts';
import { isWholeMatrix } from './whole.ts';

// One short freeze of each part and of everything; `npm run test:chaos` has those of several, and of up to 300 s.
const eachPart = ['one worker', 'one API process', 'PostgreSQL', 'Redis', 'Temporal', 'everything'] as const satisfies Frozen[];
const row = isWholeMatrix ? { frozen: everyFrozen, runs: 40, overMs: 70_000 } : { frozen: eachPart, runs: 24, overMs: 38_000 };

let own: OwnServices;
beforeAll(async () => {
  own = await ownServices('frozen');
}, 180_000);
afterAll(() => own?.stop(), 60_000);

test('each process, each service and everything at once stand still for 6 s under mixed runs: no run fails for it', async () => {
  const { counts, faults } = await freezeUnderLoad(own, { ...row, seconds: 6 });

  expect(faults).toEqual([]);
  expect(counts).toMatchObject({ failed: 0, unanswered: 0, lostRuns: 0, frames: { lost: 0, doubled: 0 } });
}, 1_500_000);
