import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { everyFrozen } from './faults/freezes.ts';
import { freezeUnderLoad } from './freeze-row.ts';
import type { FreezeResult } from './report/freeze-table.ts';
import { saveResult } from './report/results.ts';

/** `FREEZE_SECONDS=45,300 npm run test:chaos -- freezes` plays these; without it all. */
const given = process.env['FREEZE_SECONDS'];
const seconds = given ? given.split(',').map(Number) : [5, 15, 45, 120, 300];

let own: OwnServices;
beforeAll(async () => {
  own = await ownServices('freezes');
}, 180_000);
afterAll(() => own?.stop(), 60_000);

test.each(seconds.flatMap((s) => everyFrozen.map((frozen) => [frozen, s] as const)))(
  '%s frozen for %i s under mixed runs: no run fails for it and every promise holds',
  async (frozen, s) => {
    const row = await freezeUnderLoad(own, { frozen: [frozen], seconds: s, runs: 20, overMs: 8_000 });
    saveResult(`freeze-${frozen.replaceAll(' ', '-')}-${s}`, { frozen, seconds: s, ...row } satisfies FreezeResult);

    expect(row.faults).toEqual([]);
    expect(row.counts).toMatchObject({ failed: 0, unanswered: 0, lostRuns: 0, frames: { lost: 0, doubled: 0 } });
  },
  1_200_000,
);
