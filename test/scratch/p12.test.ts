import { test } from '@jest/globals';
import { startModelServer } from '../fakes/model-server.ts';
import { ownServices } from '../support/own-services.ts';
import { startStack } from '../support/stack.ts';
test('times', async () => {
  const t: [string, number][] = []; let at = Date.now(); const mark = (n: string) => { t.push([n, Date.now() - at]); at = Date.now(); };
  const own = await ownServices('scratch'); mark('services');
  const models = await startModelServer();
  const stack = await startStack({ processes: ['api', 'api-2', 'worker-runs', 'worker-runs-2'], modelBaseUrl: models.baseUrl }); mark('stack');
  await stack.stop(); mark('stack stop');
  await models.close(); await own.stop(); mark('stop');
  console.log(JSON.stringify(t));
}, 200000);
