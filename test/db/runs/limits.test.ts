import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { completeLimits, narrowedLimits, type RevisionLimits } from '../../../db/agents/revisions/revision-limits.ts';
import { completeDocument, noBindings } from '../../../db/agents/revisions/revision-document.ts';
import { upgradeDocument } from '../../../db/agents/revisions/upgrade-document.ts';
import { limitsOfRun } from '../../../db/runs/start/start-run.ts';

const defaults: RevisionLimits = {
  max_steps: 50,
  max_duration_s: 3_600,
  max_output_tokens: null,
  max_cost: null,
  max_children: 20,
  max_depth: 3,
  approval_ttl_s: 86_400,
  on_expiry: 'deny',
  on_budget: 'fail',
  max_tool_calls: 200,
};

test('what is left out has its default, and zero is no omission', () => {
  expect(completeLimits({})).toEqual(defaults);
  expect(completeLimits({ max_children: 0, max_depth: 0, max_cost: '0' })).toEqual({
    ...defaults,
    max_children: 0,
    max_depth: 0,
    max_cost: '0',
  });
});

test('a document stored before these limits came is completed when it is read; a whole one is given back as it is', () => {
  const whole = completeDocument({ instructions: 'x', limits: { max_steps: 7 } }, noBindings);
  const { max_steps, max_duration_s, max_output_tokens, max_tool_calls } = whole.limits;
  const old = { ...whole, limits: { max_steps, max_duration_s, max_output_tokens, max_tool_calls } } as never;

  expect(upgradeDocument(old)).toEqual(whole);
  expect(upgradeDocument(whole)).toBe(whole);
});

test('limits of a run come out of what an older release stored, its cost as money', () => {
  const { max_tool_calls: _, ...limits } = defaults;

  expect(limitsOfRun({}, { max_steps: 9, max_tool_calls: 3 })).toEqual({ ...limits, max_steps: 9 });
  expect(limitsOfRun({ max_cost: '2.5000' }, { max_cost: '10' }).max_cost).toBe('2.50');
  expect(limitsOfRun({ max_cost: null }, { max_cost: '10' }).max_cost).toBe('10.00');
  expect(limitsOfRun({ on_budget: 'wait', on_expiry: 'fail' }, {})).toMatchObject({ on_budget: 'wait', on_expiry: 'fail' });
});

const limits = fc.record({
  max_steps: fc.integer({ min: 1, max: 500 }),
  max_duration_s: fc.integer({ min: 10, max: 604_800 }),
  max_output_tokens: fc.option(fc.integer({ min: 1, max: 200_000 })),
  max_cost: fc.option(fc.integer({ min: 0, max: 10 ** 9 }).map((cents) => (cents / 100).toFixed(2))),
  max_children: fc.integer({ min: 0, max: 50 }),
  max_depth: fc.integer({ min: 0, max: 5 }),
  approval_ttl_s: fc.integer({ min: 30, max: 2_592_000 }),
  on_expiry: fc.constantFrom('deny' as const, 'fail' as const),
  on_budget: fc.constantFrom('fail' as const, 'wait' as const),
  max_tool_calls: fc.integer({ min: 1, max: 2_000 }),
});

const part = <K extends keyof RevisionLimits>(key: K) => limits.map((whole) => whole[key]);
const limitsParts = {
  max_steps: part('max_steps'),
  max_duration_s: part('max_duration_s'),
  max_output_tokens: part('max_output_tokens'),
  max_cost: part('max_cost'),
  max_children: part('max_children'),
  max_depth: part('max_depth'),
  approval_ttl_s: part('approval_ttl_s'),
  max_tool_calls: part('max_tool_calls'),
};

test('no layer widens a bound of the one before, whatever it asks for', () => {
  const within = (own: number | string | null, other: number | string | null) =>
    other === null || (own !== null && Number(own) <= Number(other));
  fc.assert(
    fc.property(limits, fc.record(limitsParts, { requiredKeys: [] }), (revision, asked) => {
      const narrowed = narrowedLimits(revision, asked);
      for (const key of [
        'max_steps',
        'max_duration_s',
        'max_output_tokens',
        'max_cost',
        'max_children',
        'max_depth',
        'approval_ttl_s',
        'max_tool_calls',
      ] as const) {
        expect([key, within(narrowed[key], revision[key]), within(narrowed[key], asked[key] ?? null)]).toEqual([key, true, true]);
      }
    }),
  );
});
