import { test } from '@jest/globals';
import { startApi } from '../support/api.ts';
import { makeAccessWorld } from './world/world.ts';
test('world', async () => {
  const api = await startApi();
  const t = Date.now();
  const world = await makeAccessWorld(api);
  console.log(Date.now() - t, world.actors.length);
  await world.freshGround('organization');
  await world.close();
  await api.close();
});
