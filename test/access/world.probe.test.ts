import { test } from '@jest/globals';
import { openStage } from './stage.ts';
import { tableFaults } from './checks/table.ts';
test('world', async () => {
  let t = Date.now();
  const stage = await openStage();
  console.log('stage', Date.now() - t); t = Date.now();
  const faults = await tableFaults(stage);
  console.log('table', Date.now() - t, stage.sent.length);
  process.stdout.write(faults.map(f => f.operation + ' ' + f.fault).join('\n') + '\n');
  process.stdout.write(JSON.stringify([...new Set(stage.leaks.found.map(f => f.operation + ' ' + f.fault))], null, 1));
  await stage.close();
}, 120_000);
