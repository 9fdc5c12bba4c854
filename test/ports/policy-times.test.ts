import { expect, test } from '@jest/globals';
import { planPolicy } from '../../ports/schedule/policy-times.ts';
import { nextAfter } from '../../ports/schedule/plan.ts';

test.each([
  ['an hour that the clocks skip runs when the gap ends', '2026-03-28T12:00:00Z', '2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z'],
  ['an hour that comes twice runs once', '2026-10-24T12:00:00Z', '2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
])('the schedule of a policy keeps the clock of its zone: %s', (_, now, first, second) => {
  const plan = planPolicy({ schedule: '30 2 * * *', timezone: 'Europe/Berlin' }, new Date(now));
  const next = (after: Date | null) => (plan && after ? nextAfter(plan.timetable, after) : null);

  const at = next(new Date(now));

  expect([at, next(at)].map((time) => time?.toISOString())).toEqual([first, second]);
});
