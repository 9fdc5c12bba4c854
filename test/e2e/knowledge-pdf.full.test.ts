import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pdfOf } from '../support/pdf.ts';
import { makeAgent } from '../support/scenario.ts';
import { startOwnStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { ask, played } from '../workflows/knowledge-run.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startOwnStack({ processes: ['api', 'worker-runs', 'worker-bulk'] });
});
afterAll(() => stack?.stop());

/** A page of a manual: lines that are nowhere else, with one in their middle that says something. */
function page(chapter: string, says: string): string[] {
  const filler = (at: number) => `${chapter}, paragraph ${at}: see drawing ${chapter.toLowerCase()}-${at} for the parts of this assembly.`;
  return [
    `Chapter ${chapter}`,
    ...Array.from({ length: 18 }, (_, at) => filler(at)),
    says,
    ...Array.from({ length: 18 }, (_, at) => filler(at + 18)),
  ];
}

async function uploaded(name: string, bytes: Buffer): Promise<string> {
  const form = new FormData();
  form.set('purpose', 'knowledge');
  form.set('file', new Blob([new Uint8Array(bytes)]), name);
  const authorization = `Bearer ${stack.tenant.serviceKey.plaintext}`;
  const reply = await fetch(`${stack.url()}/attachments`, { method: 'POST', body: form, headers: { authorization } });
  return ((await reply.json()) as { id: string }).id;
}

test('an agent answers from an ingested PDF and cites the page', async () => {
  const chunking = { size_tokens: 64, overlap_tokens: 0 };
  const body = { slug: 'manuals', name: 'Manuals', scope: 'workspace', embedding_model: 'hash-v1', chunking };
  const base = await ask<{ id: string }>(stack, '/knowledge-bases', body);
  const manual = pdfOf([
    page('Valves', 'Close the inlet valve before you open the housing.'),
    page('Seals', 'The shaft seal must be replaced after two years of service.'),
    page('Parts', 'Spare parts are ordered by phone on weekdays.'),
  ]);
  const attachmentId = await uploaded('pump-manual.pdf', manual);
  const source = await ask<{ id: string }>(stack, `/knowledge-bases/${base.id}/sources`, {
    attachment_id: attachmentId,
    title: 'Pump manual',
  });
  await until(async () => (await ask<{ state: string }>(stack, `/knowledge-sources/${source.id}`)).state === 'ready');
  const agent = await makeAgent(stack, [], { model: 'builtin/extractive', knowledge: [{ slug: 'manuals' }] });

  const run = await played(stack, agent.id, 'When must the shaft seal be replaced?');
  const view = await ask<{ output: { text: string } }>(stack, `/runs/${run.id}`);

  expect(run.status).toBe('succeeded');
  expect(run.results).toHaveLength(1);
  expect(JSON.stringify(run.results[0]?.['output'])).toContain(String.raw`\"page\":2`);
  expect(view.output.text).toContain('The shaft seal must be replaced after two years of service.');
  const said = run.frames.find(
    ({ type, data }) => type === 'message.completed' && data['role'] === 'assistant' && data['stop_reason'] === 'stop',
  );
  const cited = {
    type: 'citation',
    title: 'pump-manual, page 2',
    item_id: expect.any(String),
    quote: expect.stringContaining('two years'),
  };
  expect(said?.data['content']).toContainEqual(expect.objectContaining(cited));
});
