import { test } from '@jest/globals';
import { openStage } from './stage.ts';
import { tableFaults } from './checks/table.ts';
import { credentialFaults } from './checks/credentials.ts';
import { pathFaults, bodyFaults, queryFaults } from './checks/foreign.ts';
import { auditFaults, rollbackFaults } from './checks/audit.ts';
import { forbiddenFaults } from './checks/forbidden.ts';
import { textFaults } from './checks/texts.ts';
import { listFaults } from './checks/lists.ts';
test('world', async () => {
  let t = Date.now();
  const stage = await openStage({ withoutPolicies: process.env.NOPOL === '1', isUnchecked: true });
  for (const [name, check] of Object.entries({ tableFaults, credentialFaults, pathFaults, bodyFaults, queryFaults, listFaults, forbiddenFaults, auditFaults, rollbackFaults, textFaults })) {
    t = Date.now();
    const n = stage.sent.length;
    const faults = await check(stage);
    process.stdout.write(`== ${name} ${Date.now() - t} ms ${stage.sent.length - n}\n` + [...new Set(faults.map(f => f.operation + ' ' + f.fault))].join('\n') + '\n');
  }
  process.stdout.write(JSON.stringify([...new Set(stage.leaks.found.map(f => f.operation + ' ' + f.fault))], null, 1));
  process.stdout.write(JSON.stringify([...new Set(stage.api.check.faults)], null, 1));
  process.stdout.write(stage.lines.filter(l => l.includes('"level":50')).slice(0,3).join('\n'));


  const who = await stage.world.rows.query(`select u.email, u.role, u.scope, u.workspace_id, (select json_agg(json_build_array(operation_id, changes)) from audit_entries a where a.resource_id = u.id::text) from users u where email like '%canary.a2.%' and organization_id = '${stage.world.ground.organization.organizationId}' and (scope = 'organization' or workspace_id <> '${stage.world.ground.second.workspaceId}' or exists (select from workspace_grants g where g.user_id = u.id and g.workspace_id = '${stage.world.ground.home.workspaceId}'))`);
  process.stdout.write(JSON.stringify(who));
  await stage.close();
}, 120_000);
