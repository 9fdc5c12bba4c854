import { afterEach, expect, jest, test } from '@jest/globals';
import type { RegisteredOperation } from '../../api/http/operation/operation.ts';
import { liveOperations } from '../../api/http/operation/registry.ts';
import { isRoleAccess } from '../../api/http/credentials/scopes.ts';
import { areas } from '../../api/operations.ts';
import { rankOf } from '../../workflows/contracts/access.ts';
import { targetsOf } from './aim.ts';
import { authorizedActor, auditFaults } from './checks/audit.ts';
import { credentialFaults } from './checks/credentials.ts';
import { pathFaults } from './checks/foreign.ts';
import { tableFaults } from './checks/table.ts';
import { spoilt, withoutAudit, withoutFloor, withoutPredicates } from './mutations.ts';
import { openStage, type Fault, type Stage, type StageOptions } from './stage.ts';
import { unnoticed } from './told.ts';
import { actorSpecs } from './world/actors.ts';

jest.setTimeout(900_000);

// G13: the checks are tried on operations that are spoilt, all of a kind at once; each has to be named.
const operations = liveOperations(areas);
let stage: Stage | null = null;
afterEach(async () => {
  await stage?.close();
  stage = null;
});

async function faultsOf(
  options: { spoil: (operation: RegisteredOperation) => RegisteredOperation } & Pick<StageOptions, 'withoutPolicies'>,
  check: (stage: Stage) => Promise<readonly Fault[]>,
): Promise<readonly Fault[]> {
  const insiders = ['owner A1', 'owner A'];
  stage = await openStage({
    areas: spoilt(areas, options.spoil),
    withoutPolicies: options.withoutPolicies ?? false,
    isUnchecked: true,
    insiders,
  });
  return check(stage);
}

const idsOf = (chosen: readonly RegisteredOperation[]) => chosen.map(({ operationId }) => operationId);
/** What taking the caller's reach away can't show: their rows are everybody's, are found by the caller's own id or by a name, are added up without one of them being named (`test/api/billing/usage`), or the spoilt caller is stopped by another rule. */
const otherwiseKept: ReadonlySet<string> = new Set([
  'listSessions',
  'getSession',
  'revokeSession',
  'putSecret',
  'deleteSecret',
  'transferOwnership',
  'listPrices',
  'listUsage',
  // What prepares them looks at the base with a reach of its own.
  'createKnowledgeItem',
  'createKnowledgeItems',
  'updateKnowledgeItem',
]);

test('an operation without its predicates is noticed', async () => {
  const readers = actorSpecs.filter(({ name }) => name === 'owner A' || name === 'admin A1');
  const faults = await faultsOf({ spoil: withoutPredicates, withoutPolicies: true }, async (spoiltStage) => [
    ...(await pathFaults(spoiltStage, withDeletesLast(spoiltStage.operations))),
    ...(await tableFaults(
      spoiltStage,
      spoiltStage.operations.filter(({ kind }) => kind === 'list'),
      readers,
    )),
    ...spoiltStage.leaks.found,
  ]);
  const guarded = operations.filter(
    (operation) => isRoleAccess(operation) && operation.access !== 'operator' && !otherwiseKept.has(operation.operationId),
  );

  expect(unnoticed(idsOf(guarded.filter((operation) => operation.kind === 'list' || targetsOf(operation).length > 0)), faults)).toEqual([]);
});

test('an operation without its floor is noticed', async () => {
  const faults = await faultsOf(
    { spoil: (operation) => (isAboveViewer(operation) ? withoutFloor(operation) : operation) },
    credentialFaults,
  );

  expect(unnoticed(idsOf(operations.filter(isAboveViewer)), faults)).toEqual([]);
});

test('an operation without its audit entry is noticed', async () => {
  const audited = operations.filter(({ audit, access }) => audit !== 'none' && access !== 'registration-token');
  const faults = await faultsOf({ spoil: withoutAudit }, async (spoiltStage) => {
    for (const operation of audited) await tableFaults(spoiltStage, [operation], [authorizedActor(operation)]);
    return auditFaults(spoiltStage);
  });

  expect(unnoticed(idsOf(audited), faults)).toEqual([]);
});

/** What a spoilt operation has deleted of B is no longer there for others to find; children go before their parents. */
function withDeletesLast(all: readonly RegisteredOperation[]): RegisteredOperation[] {
  const order = (operation: RegisteredOperation) => (operation.method === 'DELETE' ? 1_000 - operation.path.length : 0);
  return all.toSorted((left, right) => order(left) - order(right));
}

function isAboveViewer(operation: RegisteredOperation): boolean {
  return isRoleAccess(operation) && rankOf(operation.access) > rankOf('viewer');
}
