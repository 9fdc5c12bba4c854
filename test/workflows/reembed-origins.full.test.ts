import { createServer, type Server } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { fixtures } from '../support/parsed-file.ts';
import { makeAgent, scripted } from '../support/scenario.ts';
import { freePort, startStack, type Stack } from '../support/stack.ts';
import { knowledgeCalls } from '../support/knowledge.ts';
import { itemsOf, makeBase, played } from './knowledge-run.ts';
import { pictureOf, reembedWorld, type ReembedWorld } from './reembed-world.ts';

let models: ModelServer;
let site: Server;
let port: number;
let stack: Stack;
let world: ReembedWorld;
const { asked, endOf, upload, addItems } = knowledgeCalls(() => stack);
let page = '<html><head><title>Lock</title></head><body><h1>Lock</h1><p>The lock opens at noon.</p></body></html>';

beforeAll(async () => {
  port = await freePort();
  site = createServer((_, reply) => reply.setHeader('content-type', 'text/html').end(page)).listen(port, '127.0.0.1');
  models = await startModelServer();
  stack = await startStack({ processes: ['api', 'worker-runs', 'worker-bulk'], modelBaseUrl: models.baseUrl, egressPorts: [port] });
  world = reembedWorld(stack);
});
afterAll(async () => {
  await stack?.stop();
  site?.close();
  await models?.close();
});

const tool = (name: string) => ({ slug: name, kind: 'builtin', description: name, config: { name } });

interface Source {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly run_id: string;
  readonly item_count: number;
}

interface Cited {
  readonly kb_id: string;
  readonly source_id: string | null;
  readonly quote: string;
  readonly title: string | null;
  readonly uri: string | null;
  readonly page: number | null;
}

async function added(kbId: string, body: unknown): Promise<Source> {
  const source = await asked<Source>('POST', `/knowledge-bases/${kbId}/sources`, body);
  await endOf(source.run_id);
  return source;
}

test('items of files, pages, texts, people and agents are all there after a re-embed, with their citations; syncs go to the new base', async () => {
  const base = await makeBase(stack);
  const agent = await makeAgent(stack, [tool('knowledge_write')], { knowledge: [{ slug: base.slug, access: 'write' }] });
  await added(base.id, { attachment_id: await upload(readFileSync(join(fixtures, 'pdf/reportlab-three-pages.pdf')), 'three.pdf') });
  const web = await added(base.id, { url: `http://127.0.0.1:${port}/lock` });
  await added(base.id, { text: '# Cranes\n\nCrane one lifts forty tonnes.', title: 'Cranes' });
  const [human = ''] = await addItems(base.id, [{ content: 'The mill is closed.', external_id: 'mill', tags: ['mill'] }]);
  const write = { steps: [{ tool_calls: [{ name: 'knowledge_write', arguments: { content: 'Pump 7 is blue.' } }] }, { text: 'Done.' }] };
  await played(stack, agent.id, scripted(write));
  const written = (await itemsOf(stack, base.id)).find(({ origin }) => origin === 'agent');
  await asked('POST', `/knowledge-items/${written?.id ?? ''}/relations`, { to_item_id: human, type: 'related' });
  const cited = async (kbId: string) => {
    const search = (query: string) =>
      asked<{ hits: Cited[] }>('POST', `/knowledge-bases/${kbId}/search`, { query, mode: 'lexical', include_pending: true, top_k: 50 });
    const found = await Promise.all(['page', 'lock noon', 'crane tonnes', 'mill', 'pump blue'].map(search));
    return found.flatMap(({ hits }) => hits.map(({ quote, title, uri, page: at }) => ({ quote, title, uri, at })));
  };
  const [before, citedBefore] = [await pictureOf(world, base.id), await cited(base.id)];
  const stats = (kbId: string) => asked<{ items: { by_origin: Record<string, number> } }>('GET', `/knowledge-bases/${kbId}/stats`);
  const origins = (await stats(base.id)).items.by_origin;

  const reply = await world.reembed(base.id, 'hash-v1');
  const target = reply.body.id;

  expect(await world.ended(reply.runId)).toMatchObject({ status: 'succeeded', result: { items: before.items.length, relations: 1 } });
  expect(await pictureOf(world, target)).toEqual(before);
  expect(await cited(target)).toEqual(citedBefore);
  expect(citedBefore.map(({ at }) => at)).toContain(1);
  expect(citedBefore.map(({ uri }) => uri)).toContain(`http://127.0.0.1:${port}/lock`);
  expect((await stats(target)).items.by_origin).toEqual(origins);
  expect(origins).toMatchObject({ import: expect.any(Number), human: 1, agent: 1 });

  const copies = (await asked<{ items: Source[] }>('GET', `/knowledge-bases/${target}/sources`)).items;
  expect(copies.map(({ kind }) => kind).toSorted()).toEqual(['attachment', 'text', 'url']);
  page = page.replace('at noon', 'at dawn');
  const refused = await stack.request('POST', `/knowledge-sources/${web.id}/sync`);
  const synced = await asked<Source>('POST', `/knowledge-sources/${copies.find(({ kind }) => kind === 'url')?.id ?? ''}/sync`);
  await endOf(synced.run_id);
  expect(refused.status).toBe(423);
  expect((await itemsOf(stack, target)).filter(({ content }) => content.includes('opens at')).map(({ content }) => content)).toEqual([
    expect.stringContaining('at dawn'),
  ]);
  expect((await itemsOf(stack, base.id)).some(({ content }) => content.includes('at dawn'))).toBe(false);
});
