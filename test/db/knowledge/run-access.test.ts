import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { basesOfRun, namedBases, type RunPrincipal } from '../../../db/knowledge/bases/access.ts';
import { KnowledgeBase } from '../../../db/knowledge/bases/knowledge-base.entity.ts';
import { KnowledgeGrant } from '../../../db/knowledge/bases/knowledge-grant.entity.ts';
import { newId } from '../../../db/ids.ts';
import { query } from '../../../db/query.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import { testDatabase, type TestDatabase } from '../../support/database.ts';
import { makeWorld, type World } from '../world.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

type Shape = Partial<
  Pick<KnowledgeBase, 'isPrivate' | 'ownerAgentId' | 'subjectKind' | 'subjectId' | 'activatedAt' | 'successorId' | 'deletedAt'>
>;

async function makeBase(world: World, shape: Shape = {}, workspaceId: string | null = world.workspaceIds[0] ?? null): Promise<string> {
  const id = newId();
  const scope = workspaceId === null ? 'organization' : 'workspace';
  await sweep(database.db, async (em) => {
    const place = { scope, organizationId: world.organizationId, workspaceId } as const;
    em.create(KnowledgeBase, {
      id,
      ...place,
      slug: id,
      name: 'B',
      kind: 'documents',
      embeddingModel: 'none',
      embeddingDim: 0,
      activatedAt: new Date(),
      ...shape,
    });
  });
  return id;
}

async function grantAgent(
  world: World,
  kbId: string,
  grant: { agentId: string; access: 'read' | 'write' | 'curate'; expiresAt?: Date },
): Promise<void> {
  await sweep(database.db, async (em) => {
    const place = { organizationId: world.organizationId, workspaceId: world.workspaceIds[0] ?? null };
    const principal = { principalKind: 'agent', principalId: grant.agentId, role: null } as const;
    em.create(KnowledgeGrant, {
      kbId,
      ...place,
      ...principal,
      access: grant.access,
      expiresAt: grant.expiresAt ?? null,
      createdByUserId: null,
    });
  });
}

const runIn = (world: World, more: Partial<RunPrincipal> = {}): RunPrincipal => ({
  organizationId: world.organizationId,
  workspaceId: world.workspaceIds[0] ?? '',
  agentId: world.agentId,
  personaId: null,
  subject: null,
  bindings: [],
  ...more,
});

async function found(run: RunPrincipal, access: 'read' | 'write' = 'read'): Promise<string[]> {
  const bases = query
    .selectFrom('knowledge_bases as b')
    .select('b.id')
    .where(basesOfRun(run, 'b', access))
    .orderBy('b.id');
  return (await sweep(database.db, (em) => rows(em, bases))).map(({ id }) => id);
}

const bound = (kbId: string, access: 'read' | 'write' = 'read') => ({ bindings: [{ kbId, access }] });

test('a run reads what its revision names and writes to it only where the binding says so', async () => {
  const world = await makeWorld(database.db);
  const [named] = [await makeBase(world), await makeBase(world)];

  expect(await found(runIn(world))).toEqual([]);
  expect(await found(runIn(world, bound(named)))).toEqual([named]);
  expect(await found(runIn(world, bound(named)), 'write')).toEqual([]);
  expect(await found(runIn(world, bound(named, 'write')), 'write')).toEqual([named]);
});

test('a binding opens no private base; owning it or a grant does', async () => {
  const world = await makeWorld(database.db);
  const named = await makeBase(world, { isPrivate: true });
  const owned = await makeBase(world, { isPrivate: true, ownerAgentId: world.agentId });
  const granted = await makeBase(world, { isPrivate: true });
  await grantAgent(world, granted, { agentId: world.agentId, access: 'read' });
  await grantAgent(world, named, { agentId: world.organizationAgentId, access: 'curate' });
  const run = runIn(world, bound(named, 'write'));

  expect(await found(run)).toEqual([owned, granted]);
  expect(await found(run, 'write')).toEqual([owned]);
});

test('a grant past its end counts as none, and each access holds those before it', async () => {
  const world = await makeWorld(database.db);
  const [ended, higher] = [await makeBase(world), await makeBase(world)];
  await grantAgent(world, ended, { agentId: world.agentId, access: 'write', expiresAt: new Date(Date.now() - 1_000) });
  await grantAgent(world, higher, { agentId: world.agentId, access: 'curate', expiresAt: new Date(Date.now() + 60_000) });

  expect(await found(runIn(world))).toEqual([higher]);
  expect(await found(runIn(world), 'write')).toEqual([higher]);
});

test('a base with a subject is for runs of that subject alone, whoever owns it', async () => {
  const world = await makeWorld(database.db);
  const base = await makeBase(world, { isPrivate: true, ownerAgentId: world.agentId, subjectKind: 'guest', subjectId: 'ada' });
  const of = (kind: 'user' | 'guest', id: string) => found(runIn(world, { subject: { kind, id } }));

  expect(await of('guest', 'ada')).toEqual([base]);
  expect(await of('guest', 'bob')).toEqual([]);
  expect(await of('user', 'ada')).toEqual([]);
  expect(await found(runIn(world))).toEqual([]);
});

test('a superseded base stands for its successor; one that is built, deleted or of another place is none', async () => {
  const world = await makeWorld(database.db, 2);
  const other = await makeWorld(database.db);
  const next = await makeBase(world);
  const old = await makeBase(world, { successorId: next });
  const building = await makeBase(world, { activatedAt: null });
  const deleted = await makeBase(world, { deletedAt: new Date() });
  const next_door = await makeBase(world, {}, world.workspaceIds[1] ?? null);
  const wide = await makeBase(world, {}, null);
  const foreign = await makeBase(other);
  const bindings = [old, building, deleted, next_door, wide, foreign].map((kbId) => ({ kbId, access: 'write' as const }));

  expect(await found(runIn(world, { bindings }))).toEqual([next, wide]);
  expect(await found(runIn(world, { bindings }), 'write')).toEqual([next, wide]);
  const named = query
    .selectFrom('knowledge_bases as b')
    .select('b.id')
    .where(namedBases('b', [old]))
    .where('b.successorId', 'is', null);
  expect(await sweep(database.db, (em) => rows(em, named))).toEqual([{ id: next }]);
});
