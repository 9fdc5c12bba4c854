import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseFile } from '../../../ports/parsing/index.ts';
import { childrenOf, usageOf } from '../../../ports/sandbox/watch.ts';
import { fixtures, parsed, parsedBytes, textOf, type Outcome } from '../../support/parsed-file.ts';
import { zipOf } from '../../support/zip.ts';

function partsOf(outcome: Outcome) {
  if (outcome.state === 'failed') throw new Error(outcome.detail);
  return outcome.parts;
}

const sentence = 'The pump must be closed before the valve is opened. ';

test('a long document becomes its sections, each under the titles above it, and a change of one leaves the others', async () => {
  const section = (name: string, text: string) => `## ${name}\n\n${text.repeat(200)}\n\n`;
  const document = (second: string) => `# Manual\n\n${section('Start', sentence)}${section('Stop', second)}${section('Repair', sentence)}`;

  const before = partsOf(await parsedBytes('manual.md', document(sentence)));
  const after = partsOf(await parsedBytes('manual.md', document('Another sentence of the manual. ')));

  expect(before.map(({ key, title }) => [key, title])).toEqual([
    ['manual/start', 'Manual › Start'],
    ['manual/stop', 'Manual › Stop'],
    ['manual/repair', 'Manual › Repair'],
  ]);
  expect(after.filter(({ content }, at) => content !== before[at]?.content).map(({ key }) => key)).toEqual(['manual/stop']);
});

test('a table that is cut repeats its header; no text is lost or doubled', async () => {
  const rows = Array.from({ length: 2_000 }, (_, at) => `| part ${at} | ${at} pieces |`);
  const parts = partsOf(await parsedBytes('parts.md', `# Parts\n\n| Name | Stock |\n|---|---|\n${rows.join('\n')}\n`));

  expect(parts.length).toBeGreaterThan(1);
  expect(parts.slice(1).every(({ content }) => content.startsWith('| Name | Stock |\n|---|---|\n| part '))).toBe(true);
  expect(parts.flatMap(({ content }) => content.match(/^\| part .*$/gm) ?? [])).toEqual(rows);
});

test('pages of a PDF begin at their code points', async () => {
  const [part] = partsOf(await parsed(join(fixtures, 'pdf/reportlab-three-pages.pdf')));

  const points = Array.from(part?.content ?? '');
  expect(part?.pages?.map(({ page, start }) => [page, points.slice(start, start + 9).join('')])).toEqual([
    [1, 'Chapter 1'],
    [2, 'Chapter 2'],
    [3, 'Chapter 3'],
  ]);
});

test('U+0000, lone surrogates and bad bytes are warnings with their offset, and the rest lands', async () => {
  const nul = await parsedBytes('a.txt', 'ab\0cd');
  const byte = await parsedBytes('b.txt', Buffer.concat([Buffer.from('äöü ÄÖÜ '), Buffer.from([0xff]), Buffer.from(' ßßß')]));

  expect(nul).toMatchObject({ state: 'ready', parts: [{ content: 'abcd' }], details: ['U+0000 at character 2 was dropped.'] });
  expect(byte).toMatchObject({
    parts: [{ content: 'äöü ÄÖÜ \uFFFD ßßß' }],
    details: ['A byte that is not utf-8 at character 8 was replaced by U+FFFD.'],
  });
});

test.each(['utf-16le', 'utf-16be'])('text in %s is read in every format, with and without its byte order mark', async (charset) => {
  const files = {
    'a.txt': ['Größe of otters, and where they live.', 'Größe of otters'],
    'a.csv': ['city,people\nKöln,1084831\n', '| Köln | 1084831 |'],
    'a.json': ['{"size":"Größe"}', '"size": "Größe"'],
    'a.jsonl': ['{"content":"Größe of otters"}\n', 'Größe of otters'],
    'a.html': ['<!doctype html><html><body><p>Größe of otters</p></body></html>', 'Größe of otters'],
    'page.txt': ['<!doctype html><html><body><p>Größe of otters</p></body></html>', 'Größe of otters'],
  } as const;
  for (const [name, [text, expected]] of Object.entries(files)) {
    for (const mark of ['\uFEFF', '']) {
      const bytes = Buffer.from(mark + text, 'utf16le');
      const outcome = await parsedBytes(name, charset === 'utf-16be' ? bytes.swap16() : bytes);
      const warnings = outcome.state === 'ready' ? outcome.warnings : [];

      expect([name, mark, textOf(outcome)]).toEqual([name, mark, expect.stringContaining(expected)]);
      expect([name, mark, textOf(outcome).includes('<')]).toEqual([name, mark, false]);
      expect([name, warnings.includes('charset_guessed')]).toEqual([name, mark === '']);
    }
  }
});

test('an element of JSON keeps its key where it moves, and its own fields', async () => {
  const first = partsOf(await parsedBytes('a.jsonl', '{"content":"x","external_id":"x-1","kind":"fact"}\n{"a":1}\n'));
  const moved = partsOf(await parsedBytes('a.jsonl', '{"b":2}\n{"a":1}\n{"content":"y","external_id":"x-1"}\n'));

  expect(first[0]).toMatchObject({ key: 'id/x-1', content: 'x', fields: { kind: 'fact', external_id: 'x-1' } });
  expect(moved.map(({ key }) => key)).toEqual(expect.arrayContaining(first.map(({ key }) => key)));
});

test.each([
  ['orders.md', 'md/orders.md', 'override'],
  ['hidden orders', 'html/hidden-orders.html', 'hidden_text'],
])('%s are flagged, and no image or script is in the text', async (_, file, rule) => {
  const [part] = partsOf(await parsed(join(fixtures, file)));

  expect(part?.suspect?.rule).toBe(rule);
  expect(part?.content).not.toContain('alert(1)');
});

test('texts about prompts and keys in plain documentation are not flagged', async () => {
  const parts = partsOf(
    await parsedBytes(
      'a.md',
      'Rotate your API keys each year. `POST /auth/mfa/totp` needs a password. The system prompt is a field of a revision.',
    ),
  );

  expect(parts[0]?.suspect).toBeNull();
});

test('a zip bomb under the name of a document fails before it is unpacked', async () => {
  const bomb = zipOf([{ path: 'word/document.xml', content: Buffer.alloc(310 * 1024 * 1024, 32) }]);

  expect(await parsedBytes('bomb.docx', bomb)).toMatchObject({ state: 'failed', code: 'payload_too_large' });
}, 60_000);

test('a file that fills the heap of its reader fails alone', async () => {
  // A hundred bytes of objects for each of the two that begin them.
  const outcome = await parsedBytes('deep.json', `[${'{},'.repeat(8 * 1024 * 1024)}{}]`);

  expect(outcome).toMatchObject({ state: 'failed', code: 'parser_out_of_memory' });
}, 120_000);

test('a reader that is killed fails its file alone, and an aborted one leaves no child', async () => {
  const end = new AbortController();
  const events = parseFile(join(fixtures, 'csv/vega-unemployment.tsv'), { filename: 'a.tsv', mediaType: '', signal: end.signal });
  const before = childrenOf(process.pid);
  const killed = (async () => {
    for await (const _ of events) for (const pid of childrenOf(process.pid)) if (!before.includes(pid)) process.kill(pid, 'SIGKILL');
  })();
  const outcome = await killed.then(
    () => 'ended',
    (error: unknown) => (error instanceof Error && 'code' in error ? error.code : String(error)),
  );

  expect(['parser_crashed', 'ended']).toContain(outcome);
  expect(textOf(await parsed(join(fixtures, 'md/hebrew-rtl.md')))).toContain('חתולים');
});

test('350,000 rows and 100 MB of CSV stay flat in memory', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-csv-'));
  try {
    const peaks = [];
    for (const rows of [10_000, 350_000]) {
      const path = join(folder, `${rows}.csv`);
      await writeRows(path, rows);
      peaks.push(await peakOf(path));
    }

    expect(peaks[1]?.rows).toBe(350_000);
    expect((peaks[1]?.childMb ?? Infinity) - (peaks[0]?.childMb ?? 0)).toBeLessThan(64);
  } finally {
    await rm(folder, { recursive: true });
  }
}, 180_000);

async function writeRows(path: string, rows: number): Promise<void> {
  const out = createWriteStream(path);
  out.write('id,name,note\n');
  for (let at = 0; at < rows; at += 1)
    if (!out.write(`${at},name ${at},"${'some words of a note '.repeat(13)}"\n`)) await once(out, 'drain');
  out.end();
  await once(out, 'finish');
}

async function peakOf(path: string): Promise<{ readonly childMb: number; readonly rows: number }> {
  const before = childrenOf(process.pid);
  let childMb = 0;
  let rows = 0;
  for await (const event of parseFile(path, { filename: 'big.csv', mediaType: 'text/csv' })) {
    if (event.kind === 'part') rows += event.part.content.split('\n').length - 2;
    for (const pid of childrenOf(process.pid)) if (!before.includes(pid)) childMb = Math.max(childMb, usageOf(pid).memoryMb);
  }
  return { childMb, rows };
}
