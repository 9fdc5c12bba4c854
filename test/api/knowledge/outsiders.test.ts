import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { liveOperations } from '../../../api/http/operation/registry.ts';
import { areas } from '../../../api/operations.ts';
import { makeUser, type TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type Answer, type World } from '../world.ts';
import { upload } from '../attachments/uploads.ts';
import { freeSlug, grant, makeBase } from './base-calls.ts';
import { changeRows, makeItem, plantFinding, rowsOf } from './knowledge-fixture.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Level = 'read' | 'write' | 'curate' | 'manage';

/** A base with one row of each kind. */
interface Whole {
  readonly kbId: string;
  readonly slug: string;
  readonly itemId: string;
  readonly otherItemId: string;
  readonly deletedItemId: string;
  readonly sourceId: string;
  readonly relationId: string;
  readonly grantId: string;
  readonly runId: string;
  readonly findingId: string;
  readonly attachmentId: string;
}

interface Request {
  readonly of: (base: Whole) => readonly [Method, string, unknown?];
  /** What it takes of a private base; `admin`: an admin of the place needs no grant. Null: it names no base. */
  readonly needs: Level | 'admin' | null;
  /** How it shows nothing: with a status other than 403 and 404. */
  readonly blind?: 'empty' | 422;
  /** How it refuses an admin, where not with 403. */
  readonly toAdmin?: 404;
}

/** One request of each operation; what destroys comes last. */
const requests: Readonly<Record<string, Request>> = {
  listKnowledgeBases: { of: ({ slug }) => ['GET', `/knowledge-bases?q=${slug}`], needs: 'admin', blind: 'empty' },
  createKnowledgeBase: { of: () => ['POST', '/knowledge-bases', { slug: freeSlug(), name: 'Base' }], needs: null },
  getKnowledgeBase: { of: ({ kbId }) => ['GET', `/knowledge-bases/${kbId}`], needs: 'admin' },
  getKnowledgeBaseStats: { of: ({ kbId }) => ['GET', `/knowledge-bases/${kbId}/stats`], needs: 'admin' },
  listKnowledgeGrants: { of: ({ kbId }) => ['GET', `/knowledge-bases/${kbId}/grants`], needs: 'admin' },
  listKnowledgeSources: { of: ({ kbId }) => ['GET', `/knowledge-bases/${kbId}/sources`], needs: 'read' },
  getKnowledgeSource: { of: ({ sourceId }) => ['GET', `/knowledge-sources/${sourceId}`], needs: 'read' },
  listKnowledgeItems: { of: ({ kbId }) => ['GET', `/knowledge-bases/${kbId}/items`], needs: 'read' },
  getKnowledgeItem: { of: ({ itemId }) => ['GET', `/knowledge-items/${itemId}`], needs: 'read' },
  listKnowledgeItemVersions: { of: ({ itemId }) => ['GET', `/knowledge-items/${itemId}/versions`], needs: 'read' },
  listKnowledgeItemChunks: { of: ({ itemId }) => ['GET', `/knowledge-items/${itemId}/chunks`], needs: 'read' },
  listKnowledgeRelations: { of: ({ itemId }) => ['GET', `/knowledge-items/${itemId}/relations`], needs: 'read' },
  searchKnowledgeBase: { of: ({ kbId }) => ['POST', `/knowledge-bases/${kbId}/search`, { query: 'pump' }], needs: 'read' },
  searchKnowledge: { of: ({ kbId }) => ['POST', '/knowledge/search', { query: 'pump', kb_ids: [kbId] }], needs: 'read', blind: 422 },
  listMaintenanceRuns: { of: ({ kbId }) => ['GET', `/knowledge-maintenance-runs?kb_id=${kbId}`], needs: 'admin', blind: 'empty' },
  getMaintenanceRun: { of: ({ runId }) => ['GET', `/knowledge-maintenance-runs/${runId}`], needs: 'admin' },
  getMaintenancePolicy: { of: ({ kbId }) => ['GET', `/knowledge-bases/${kbId}/maintenance-policy`], needs: 'manage' },
  listKnowledgeFindings: { of: ({ kbId }) => ['GET', `/knowledge-findings?kb_id=${kbId}`], needs: 'curate', blind: 'empty' },
  updateKnowledgeBase: { of: ({ kbId }) => ['PATCH', `/knowledge-bases/${kbId}`, { name: 'Mine' }], needs: 'manage' },
  createKnowledgeGrant: {
    of: ({ kbId }) => ['POST', `/knowledge-bases/${kbId}/grants`, { principal_kind: 'role', role: 'owner', access: 'read' }],
    needs: 'admin',
  },
  updateKnowledgeGrant: { of: ({ grantId }) => ['PATCH', `/knowledge-grants/${grantId}`, { access: 'write' }], needs: 'admin' },
  createKnowledgeSource: { of: ({ kbId }) => ['POST', `/knowledge-bases/${kbId}/sources`, { text: 'Mine' }], needs: 'write' },
  syncKnowledgeSource: { of: ({ sourceId }) => ['POST', `/knowledge-sources/${sourceId}/sync`], needs: 'write' },
  createKnowledgeItem: { of: ({ kbId }) => ['POST', `/knowledge-bases/${kbId}/items`, { content: 'Mine' }], needs: 'write' },
  createKnowledgeItems: {
    of: ({ kbId }) => ['POST', `/knowledge-bases/${kbId}/items/batch`, { items: [{ content: 'x' }] }],
    needs: 'write',
  },
  updateKnowledgeItem: { of: ({ itemId }) => ['PATCH', `/knowledge-items/${itemId}`, { content: 'Mine' }], needs: 'write' },
  curateKnowledgeItem: {
    of: ({ itemId }) => ['POST', `/knowledge-items/${itemId}/curate`, { curation_state: 'retired' }],
    needs: 'curate',
  },
  curateKnowledgeItems: {
    of: ({ kbId }) => ['POST', `/knowledge-bases/${kbId}/items/curate`, { filter: {}, curation_state: 'retired' }],
    needs: 'curate',
  },
  restoreKnowledgeItem: { of: ({ deletedItemId }) => ['POST', `/knowledge-items/${deletedItemId}/restore`], needs: 'curate' },
  createKnowledgeRelation: {
    of: ({ itemId, otherItemId }) => ['POST', `/knowledge-items/${otherItemId}/relations`, { to_item_id: itemId, type: 'supports' }],
    needs: 'write',
  },
  resolveKnowledgeFinding: {
    of: ({ findingId }) => ['POST', `/knowledge-findings/${findingId}/resolve`, { action: 'dismiss' }],
    needs: 'curate',
    toAdmin: 404,
  },
  putMaintenancePolicy: { of: ({ kbId }) => ['PUT', `/knowledge-bases/${kbId}/maintenance-policy`, {}], needs: 'manage' },
  createMaintenanceRun: { of: ({ kbId }) => ['POST', `/knowledge-bases/${kbId}/maintenance-runs`, { tasks: ['verify'] }], needs: 'manage' },
  cancelMaintenanceRun: { of: ({ runId }) => ['POST', `/knowledge-maintenance-runs/${runId}/cancel`], needs: 'manage' },
  exportKnowledgeBase: { of: ({ kbId }) => ['POST', `/knowledge-bases/${kbId}/export`, {}], needs: 'manage' },
  importKnowledgeBase: {
    of: ({ kbId, attachmentId }) => ['POST', `/knowledge-bases/${kbId}/import`, { attachment_id: attachmentId }],
    needs: 'manage',
  },
  deleteKnowledgeRelation: { of: ({ relationId }) => ['DELETE', `/knowledge-relations/${relationId}`], needs: 'write' },
  deleteKnowledgeItem: { of: ({ otherItemId }) => ['DELETE', `/knowledge-items/${otherItemId}`], needs: 'write' },
  deleteKnowledgeSource: { of: ({ sourceId }) => ['DELETE', `/knowledge-sources/${sourceId}`], needs: 'write' },
  reembedKnowledgeBase: { of: ({ kbId, slug }) => ['POST', `/knowledge-bases/${kbId}/reembed`, { slug }], needs: 'manage' },
  deleteKnowledgeGrant: { of: ({ grantId }) => ['DELETE', `/knowledge-grants/${grantId}`], needs: 'admin' },
  purgeKnowledgeBase: {
    of: ({ kbId, slug }) => ['POST', `/knowledge-bases/${kbId}/purge`, { confirm: slug, mode: 'all' }],
    needs: 'admin',
  },
  deleteKnowledgeBase: { of: ({ kbId }) => ['DELETE', `/knowledge-bases/${kbId}`], needs: 'manage' },
};

const mine = liveOperations(areas).filter(({ area }) => area === 'Knowledge' || area === 'Knowledge maintenance');
const floors = new Map(mine.map(({ operationId, access }) => [operationId, access]));

/** A private base of the tenant's member, full. */
async function wholeBase(tenant: TestTenant): Promise<Whole> {
  const { member, admin } = tenant.tokens;
  const { id: kbId, slug } = await makeBase(world, member, { is_private: true });
  const item = async (content: string) => (await makeItem(world, member, kbId, { content })).id as string;
  const [itemId, otherItemId, deletedItemId] = [await item('The pump is blue.'), await item('The valve is red.'), await item('Old.')];
  await world.call(member, 'DELETE', `/knowledge-items/${deletedItemId}`);
  const attachmentId = String((await upload(world, member, '# Pump\n\nIt is blue.', { filename: 'pump.md' })).body['id']);
  const source = await world.call(member, 'POST', `/knowledge-bases/${kbId}/sources`, { body: { attachment_id: attachmentId } });
  const ended = `with r as (update knowledge_runs set status = 'succeeded', finished_at = now() where source_id = ?)
    update knowledge_sources set state = 'failed' where id = ?`;
  await changeRows(world, ended, [source.body.id, source.body.id]);
  const relation = await world.call(member, 'POST', `/knowledge-items/${itemId}/relations`, {
    body: { to_item_id: otherItemId, type: 'related' },
  });
  const own = await grant(world, admin, kbId, { principal_kind: 'role', role: 'owner', access: 'manage' });
  const runId = newId();
  await changeRows(
    world,
    `insert into knowledge_runs (id, kb_id, organization_id, workspace_id, kind, tasks, currency, requested_by) values (?, ?, ?, ?, 'maintenance', '{verify}', 'USD', '{"kind":"system","id":null}')`,
    [runId, kbId, tenant.organizationId, tenant.workspaceId],
  );
  const findingId = await plantFinding(world, tenant, { kbId, itemIds: [itemId, otherItemId] });
  const ids = { itemId, otherItemId, deletedItemId, attachmentId, sourceId: source.body.id, relationId: relation.body.id };
  await changeRows(world, 'delete from knowledge_grants where id = ?', [own.id]);
  const shown = await grant(world, admin, kbId, {
    principal_kind: 'agent',
    principal_id: (await makeAgent(world, admin)).id,
    access: 'read',
  });
  return { kbId, slug, ...ids, grantId: shown.id, runId, findingId };
}

const ask = (token: string, name: string, base: Whole): Promise<Answer> => {
  const [method, path, body] = requests[name]?.of(base) ?? ['GET', '/'];
  return world.call(token, method, path, body === undefined ? {} : { body });
};

/** What a reply says to somebody who may not know: `nothing`, or its status. */
function told(answer: Answer, { blind }: Request): string | number {
  if (blind === 'empty' && answer.status === 200 && answer.body.items.length === 0) return 'nothing';
  if (blind === 422 && answer.status === 422 && answer.body.errors[0].rule === 'reference') return 'nothing';
  return answer.status === 404 ? 'nothing' : answer.status;
}

/** All rows of a base as one text: equal as long as nothing has changed. */
async function rowsOfBase(kbId: string): Promise<string> {
  const tables = ['sources', 'items', 'chunks', 'relations', 'grants', 'runs', 'findings', 'policies', 'base_counters', 'vectors'];
  const parts = tables.map((name) => `(select string_agg(t::text, '|' order by t::text) from knowledge_${name} t where t.kb_id = b.id)`);
  const [found] = await rowsOf<{ all: string }>(
    world,
    `select concat_ws('#', b::text, ${parts}) as all from knowledge_bases b where id = ?`,
    [kbId],
  );
  return found?.all ?? '';
}

const inPlace = Object.entries(requests).filter(([, { needs }]) => needs !== null);

test('each operation of the two areas is asked', () => {
  expect(Object.keys(requests).toSorted()).toEqual([...floors.keys()].toSorted());
});

test('to another tenant, another workspace and a member without a right, or with one that has ended, a private base is not there, and nothing of it changes', async () => {
  const [tenant, other] = [await world.tenant({ workspaces: 2 }), await world.tenant()];
  const base = await wholeBase(tenant);
  const { organizationId } = tenant;
  const person = (workspaceId: string) =>
    makeUser(world.api.db, world.api.keys, { role: 'member', scope: 'workspace', organizationId, workspaceId });
  const [far, revoked, expired] = [
    await person(tenant.workspaceIds[1] ?? ''),
    await person(tenant.workspaceId),
    await person(tenant.workspaceId),
  ];
  for (const { id } of [revoked, expired]) {
    const given = await grant(world, tenant.tokens.admin, base.kbId, { principal_kind: 'user', principal_id: id, access: 'manage' });
    if (id === revoked.id) await world.call(tenant.tokens.admin, 'DELETE', `/knowledge-grants/${given.id}`);
    else await changeRows(world, "update knowledge_grants set expires_at = now() - interval '1 s' where id = ?", [given.id]);
  }
  const before = await rowsOfBase(base.kbId);

  for (const [name, request] of inPlace) {
    expect([name, told(await ask(other.tokens.owner, name, base), request)]).toEqual([name, 'nothing']);
    for (const { token } of [far, revoked, expired, tenant.users.viewer]) {
      const isBelow = floors.get(name) === 'admin' || (floors.get(name) === 'member' && token === tenant.users.viewer.token);
      expect([name, told(await ask(token, name, base), request)]).toEqual([name, isBelow ? 403 : 'nothing']);
    }
  }
  expect(await rowsOfBase(base.kbId)).toBe(before);
});

test('admins, keys and operators have of a private base what an admin needs, and of its content nothing without a grant', async () => {
  const tenant = await world.tenant();
  const base = await wholeBase(tenant);
  const before = await rowsOfBase(base.kbId);
  const { tokens, organizationOwner, serviceKey } = tenant;

  for (const token of [tokens.admin, tokens.owner, organizationOwner.token, serviceKey.plaintext, tokens.operator])
    for (const [name, request] of inPlace.filter(([, { needs }]) => needs !== 'admin')) {
      const shown = told(await ask(token, name, base), request);
      expect([name, shown]).toEqual([name, request.toAdmin !== undefined || request.blind !== undefined ? 'nothing' : 403]);
    }
  expect(await rowsOfBase(base.kbId)).toBe(before);
  await changeRows(world, "update knowledge_runs set status = 'succeeded', finished_at = now() where kb_id = ?", [base.kbId]);
  for (const [name] of inPlace.filter(([, { needs }]) => needs === 'admin'))
    expect([name, (await ask(tokens.admin, name, base)).status < 300]).toEqual([name, true]);
});

const levels = ['read', 'write', 'curate', 'manage'] as const;

test.each(levels)('a grant to %s opens what it says and nothing above, in the log, and closes it with the next request', async (level) => {
  const tenant = await world.tenant();
  const base = await wholeBase(tenant);
  const { admin } = tenant.tokens;
  const given = await grant(world, admin, base.kbId, { principal_kind: 'user', principal_id: tenant.users.admin.id, access: level });
  const isOpen = ({ needs }: Request) => needs === 'admin' || needs === null || levels.indexOf(needs) <= levels.indexOf(level);
  const reads = inPlace.filter(([, { needs, of }]) => needs === 'read' && of(base)[0] === 'GET');

  const readsBefore = await Promise.all(reads.map(([name]) => ask(admin, name, base)));
  for (const [name, request] of inPlace.filter(([, request]) => !isOpen(request)))
    expect([name, told(await ask(admin, name, base), request)]).toEqual([name, request.toAdmin || request.blind ? 'nothing' : 403]);
  for (const [name, request] of inPlace.filter(
    ([id, request]) => isOpen(request) && id !== 'deleteKnowledgeGrant' && id !== 'purgeKnowledgeBase',
  )) {
    const shown = told(await ask(admin, name, base), request);
    // What has become of the base by then may be in its way; a right is not.
    expect([name, shown === 403 || shown === 'nothing']).toEqual([name, false]);
  }
  await changeRows(world, 'update knowledge_bases set deleted_at = null, is_frozen = false where id = ?', [base.kbId]);
  await world.call(admin, 'DELETE', `/knowledge-grants/${given.id}`);

  expect(new Set(readsBefore.map(({ status }) => status))).toEqual(new Set([200]));
  for (const [name] of reads) if (name !== 'getKnowledgeSource') expect([name, (await ask(admin, name, base)).status]).toEqual([name, 403]);
  const logged = await rowsOf<{ action: string }>(world, 'select action from audit_entries where resource_id = ? order by created_at', [
    given.id,
  ]);
  expect(logged.map(({ action }) => action)).toEqual(['create', 'delete']);
});

test('ids of others in bodies and filters are what unknown ids are', async () => {
  const [tenant, other] = [await world.tenant(), await world.tenant()];
  const { member, admin } = tenant.tokens;
  const [own, sibling, foreign] = [await wholeBase(tenant), await wholeBase(tenant), await wholeBase(other)];
  const unknown = Object.fromEntries(Object.keys(own).map((name) => [name, newId()])) as unknown as Whole;
  await grant(world, admin, own.kbId, { principal_kind: 'user', principal_id: tenant.users.admin.id, access: 'manage' });
  const bodies: readonly ((ids: Whole) => readonly [Method, string, unknown?])[] = [
    ({ itemId }) => ['POST', `/knowledge-items/${own.itemId}/relations`, { to_item_id: itemId, type: 'supports' }],
    ({ itemId }) => ['POST', `/knowledge-items/${own.itemId}/curate`, { curation_state: 'superseded', superseded_by_id: itemId }],
    ({ itemId }) => ['POST', `/knowledge-bases/${own.kbId}/items/curate`, { item_ids: [itemId], curation_state: 'retired' }],
    ({ itemId }) => [
      'POST',
      `/knowledge-bases/${own.kbId}/items/curate`,
      { item_ids: [own.itemId], curation_state: 'superseded', superseded_by_id: itemId },
    ],
    ({ sourceId }) => ['POST', `/knowledge-bases/${own.kbId}/items/curate`, { filter: { source_id: sourceId }, curation_state: 'retired' }],
    ({ sourceId }) => ['POST', `/knowledge-bases/${own.kbId}/search`, { query: 'pump', filters: { source_ids: [sourceId] } }],
    ({ kbId }) => ['POST', '/knowledge/search', { query: 'pump', kb_ids: [own.kbId, kbId] }],
    ({ sourceId }) => ['GET', `/knowledge-bases/${own.kbId}/items?source_id=${sourceId}`],
    ({ itemId }) => ['POST', `/knowledge-bases/${own.kbId}/purge`, { confirm: own.slug, mode: 'items', item_ids: [itemId] }],
    ({ itemId }) => ['POST', `/knowledge-bases/${own.kbId}/maintenance-runs`, { tasks: ['verify'], item_ids: [itemId] }],
    ({ itemId }) => ['POST', `/knowledge-findings/${own.findingId}/resolve`, { action: 'retire', item_id: itemId }],
    ({ itemId }) => ['POST', `/knowledge-findings/${own.findingId}/resolve`, { action: 'merge', keep_item_id: itemId }],
    ({ attachmentId }) => ['POST', `/knowledge-bases/${own.kbId}/sources`, { attachment_id: attachmentId }],
    ({ attachmentId }) => ['POST', `/knowledge-bases/${own.kbId}/import`, { attachment_id: attachmentId }],
    ({ kbId }) => ['GET', `/knowledge-findings?kb_id=${kbId}`],
  ];

  for (const request of bodies) {
    const seen = await Promise.all(
      [unknown, foreign, sibling].map(async (ids) => {
        const [method, path, body] = request(ids);
        const { status, body: reply } = await world.call(admin, method, path, body === undefined ? {} : { body });
        return { status, rules: reply.errors?.map(({ rule }: { rule: string }) => rule) ?? reply.items?.length ?? reply.matched };
      }),
    );
    expect(seen.slice(1)).toEqual([seen[0], seen[0]]);
    expect([request(own)[1], seen[0]?.status === 422 || seen[0]?.rules === 0]).toEqual([request(own)[1], true]);
  }
  expect((await world.call(member, 'GET', `/knowledge-items/${sibling.itemId}`)).body.curation_state).toBe('reviewed');
});

test('a file that a private base is made of is read by those who read the base, its uploader and nobody else, also as a source, an import or an input', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const base = await wholeBase(tenant);
  const { tokens, organizationOwner, serviceKey } = tenant;
  const read = async (token: string) =>
    (await world.call(token, 'GET', `/attachments/${base.attachmentId}`, { headers: { accept: 'application/json' } })).status;
  const others = [tokens.admin, tokens.owner, organizationOwner.token, serviceKey.plaintext, tokens.operator, tokens.viewer];
  const mine = await makeBase(world, tokens.admin);
  const agentId = (await makeAgent(world, tokens.admin)).id;

  const before = { maker: await read(tokens.member), others: await Promise.all(others.map(read)) };
  const uses = [
    await world.call(tokens.admin, 'POST', `/knowledge-bases/${mine.id}/sources`, { body: { attachment_id: base.attachmentId } }),
    await world.call(tokens.admin, 'POST', `/knowledge-bases/${mine.id}/import`, { body: { attachment_id: base.attachmentId } }),
    await world.call(tokens.admin, 'POST', '/runs', {
      body: { agent_id: agentId, input: { text: 'Read.', attachments: [{ attachment_id: base.attachmentId }] } },
    }),
  ];
  await grant(world, tokens.admin, base.kbId, { principal_kind: 'user', principal_id: tenant.users.admin.id, access: 'read' });
  const granted = await read(tokens.admin);
  await world.call(tokens.member, 'DELETE', `/knowledge-sources/${base.sourceId}`);
  const afterwards = await read(tokens.owner);
  const elsewhere = (
    await upload(world, organizationOwner.token, '# Far', { filename: 'far.md', fields: { workspace_id: tenant.workspaceIds[1] ?? '' } })
  ).body['id'];
  const far = await world.call(organizationOwner.token, 'POST', `/knowledge-bases/${mine.id}/sources`, {
    body: { attachment_id: elsewhere },
  });

  expect(before).toEqual({ maker: 200, others: others.map(() => 404) });
  expect(uses.map(({ status, body }) => [status, body.errors[0].rule])).toEqual(uses.map(() => [422, 'reference']));
  expect([granted, afterwards]).toEqual([200, 404]);
  expect([far.status, far.body.errors[0].rule]).toEqual([422, 'reference']);
});

test('a page that a private base fetched is nobody’s upload', async () => {
  const tenant = await world.tenant();
  const base = await wholeBase(tenant);
  const page = String((await upload(world, tenant.tokens.owner, '# Page', { filename: 'page.md' })).body['id']);
  await changeRows(world, `update attachments set created_by = '{"kind":"system","id":null}' where id = ?`, [page]);
  await changeRows(world, "update knowledge_runs set attachment_id = ? where kb_id = ? and kind = 'ingest'", [page, base.kbId]);

  const asJson = { headers: { accept: 'application/json' } };
  const shown = await world.call(tenant.tokens.owner, 'GET', `/knowledge-maintenance-runs?kb_id=${base.kbId}&kind=ingest`);
  expect(shown.body.items[0].attachment_id).toBe(page);
  expect((await world.call(tenant.tokens.owner, 'GET', `/attachments/${page}`, asJson)).status).toBe(404);
});

test('whoever makes a base private keeps it by a grant, and may open it again', async () => {
  const { tokens } = await world.tenant();
  const base = await makeBase(world, tokens.admin);
  const turn = (isPrivate: boolean) =>
    world.call(tokens.member, 'PATCH', `/knowledge-bases/${base.id}`, { body: { is_private: isPrivate } });
  const status = async (token: string) => (await world.call(token, 'GET', `/knowledge-bases/${base.id}/items`)).status;

  const turned = [(await turn(true)).status, await status(tokens.member), await status(tokens.viewer), await status(tokens.admin)];
  const opened = [(await turn(false)).status, await status(tokens.viewer), (await turn(true)).status];
  const grants = await world.call(tokens.admin, 'GET', `/knowledge-bases/${base.id}/grants`);

  expect(turned).toEqual([200, 200, 404, 403]);
  expect(opened).toEqual([200, 200, 200]);
  expect(grants.body.items).toMatchObject([{ principal_kind: 'user', access: 'manage' }]);
});

test('the id of a person is one id, however it is written', async () => {
  const { tokens, users } = await world.tenant();
  const id = users.member.id.toUpperCase();
  const base = await makeBase(world, tokens.admin, { kind: 'memory', subject_kind: 'user', subject_id: id });
  const item = await makeItem(world, tokens.member, base.id, {
    evidence: [{ kind: 'url', ref: 'x', subject_kind: 'user', subject_id: id }],
  });
  const listed = await world.call(tokens.member, 'GET', `/knowledge-bases?subject_kind=user&subject_id=${id}`);
  const purged = await world.call(tokens.admin, 'POST', `/knowledge-bases/${base.id}/purge`, {
    body: { confirm: base.slug, mode: 'subject', subject_kind: 'user', subject_id: id },
  });
  const [run] = await rowsOf<{ params: unknown }>(world, 'select params from knowledge_runs where id = ?', [purged.body.id]);

  expect([base.subject_id, item.evidence[0].subject_id]).toEqual([users.member.id, users.member.id]);
  expect(listed.body.items).toHaveLength(1);
  expect(run?.params).toMatchObject({ subjectId: users.member.id, isWhole: true });
});

test('a repeat tells nobody what has been deleted: with a base go the replies about its rows, with items those about their relations', async () => {
  const { tokens } = await world.tenant();
  const key = () => ({ 'idempotency-key': newId() });
  const made: { path: string; body: object; headers: Record<string, string> }[] = [];
  const post = async (path: string, body: object, headers = key()) => {
    made.push({ path, body, headers });
    return (await world.call(tokens.admin, 'POST', path, { body, headers })).body;
  };
  const { id: kbId } = await post('/knowledge-bases', { slug: freeSlug(), name: 'Base', embedding_model: 'none' });
  const [one, two] = [
    await post(`/knowledge-bases/${kbId}/items`, { content: 'a' }),
    await post(`/knowledge-bases/${kbId}/items`, { content: 'b' }),
  ];
  const relation = await post(`/knowledge-items/${one.id}/relations`, { to_item_id: two.id, type: 'related', note: 'Words' });
  await post(`/knowledge-items/${one.id}/relations`, { to_item_id: two.id, type: 'supports', note: 'Words' });
  const given = await post(`/knowledge-bases/${kbId}/grants`, { principal_kind: 'role', role: 'member', access: 'read' });
  await post(`/knowledge-bases/${kbId}/sources`, { text: 'Words', title: 'Words' });
  const repeated = () =>
    Promise.all(made.map(async ({ path, body, headers }) => (await world.call(tokens.admin, 'POST', path, { body, headers })).status));

  const whole = await repeated();
  await world.call(tokens.admin, 'DELETE', `/knowledge-relations/${relation.id}`);
  await world.call(tokens.admin, 'DELETE', `/knowledge-grants/${given.id}`);
  await world.call(tokens.admin, 'DELETE', `/knowledge-items/${two.id}`);
  const less = await repeated();
  await changeRows(world, "update knowledge_runs set status = 'succeeded', finished_at = now() where kb_id = ?", [kbId]);
  await world.call(tokens.admin, 'DELETE', `/knowledge-bases/${kbId}`);

  expect(whole).toEqual([201, 201, 201, 201, 201, 201, 202]);
  expect(less).toEqual([201, 201, 404, 404, 404, 404, 202]);
  expect(await repeated()).toEqual(made.map(() => 404));
});
