import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { judge } from './checker/judge.ts';
import type { Evidence } from './checker/evidence.ts';
import { draftOf, tamperings, type Draft } from './checker/tampered.ts';
import type { Kind } from './load/kinds.ts';
import { allKinds } from './load/mixed.ts';
import { runSeed, type SeedResult } from './seed.ts';
import { isWholeMatrix, matrixTest } from './whole.ts';

// The part of the fault matrix that comes with every test run; `npm run test:chaos` runs the whole of it.
let own: OwnServices;
let whole: SeedResult;
beforeAll(async () => {
  own = await ownServices('mixed');
});
afterAll(() => own?.stop());

const kinds: readonly Kind[] = isWholeMatrix ? allKinds : [...new Set(allKinds), 'line', 'capped'];
const rage = isWholeMatrix ? { blows: 8, overMs: 30_000, frozen: 5 } : { blows: 4, overMs: 20_000, frozen: 2 };

test('seed 1: one run of each kind and more, under blows and freezes: each ends once and every promise holds', async () => {
  const { blows, overMs, frozen } = rage;
  const freezes = { count: frozen, ms: [5_000, 7_000] } as const;
  whole = await runSeed(own, { seed: 1, runs: kinds.length, kinds, overMs, blows, freezes, hasKiller: true });

  const told = `seed 1: ${whole.blows.map((blow) => blow.name).join('; ')}`;
  expect({ told, faults: whole.faults }).toEqual({ told, faults: [] });
  expect(whole.counts).toMatchObject({
    acknowledged: whole.counts.runs - whole.counts.causedRuns - childrenOf(whole),
    unanswered: 0,
    lostRuns: 0,
  });
}, 400_000);

const freshSeed = Date.now() % 1_000_000;

matrixTest(
  `seed ${freshSeed}: a load and a rage that nobody has seen before`,
  async () => {
    const { faults, blows } = await runSeed(own, { seed: freshSeed, runs: 16, overMs: 20_000, blows: 8 });

    const told = `CHAOS_SEED=${freshSeed}: ${blows.map((blow) => blow.name).join('; ')}`;
    expect({ told, faults }).toEqual({ told, faults: [] });
  },
  400_000,
);

test.each(tamperings)('the checker notices when $name', ({ apply, says }) => {
  const draft = draftOf(whole.evidence);
  expect(verdictOf(draft).faults).toEqual([]);

  expect(apply(draft, whole.slugs)).toBe(true);

  expect(verdictOf(draft).faults.filter((fault) => says.test(fault))).not.toEqual([]);
});

/** A draft is evidence that may be changed. */
function verdictOf(draft: Draft) {
  return judge(draft as unknown as Evidence, whole.slugs);
}

function childrenOf({ evidence }: SeedResult): number {
  return evidence.runs.filter((run) => run.parent_run_id !== null).length;
}
