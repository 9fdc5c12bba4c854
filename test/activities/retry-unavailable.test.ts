import { expect, test } from '@jest/globals';
import { retryDespiteCancellation } from '../../activities/support/retry-unavailable.ts';
import { fail } from '../../workflows/contracts/failure.ts';

test('what nobody waits for is still written once the database is back, and other faults are thrown at once', async () => {
  let tries = 0;
  const written = await retryDespiteCancellation(async () => {
    tries += 1;
    if (tries < 3) throw fail('service_unavailable');
    return 'written';
  });

  expect([written, tries]).toEqual(['written', 3]);
  await expect(retryDespiteCancellation(() => Promise.reject(fail('not_found')))).rejects.toMatchObject({ code: 'not_found' });
});
