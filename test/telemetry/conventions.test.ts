import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import * as semantic from '@opentelemetry/semantic-conventions';
import { attribute, contentAttribute, conventions, ownAttribute } from '../../ports/telemetry/conventions.ts';
import { originText, parseOrigin, spanIdOf, traceIdOf } from '../../ports/telemetry/origin.ts';

const root = join(import.meta.dirname, '../..');
const genAi = readFileSync(join(root, 'test/contract/genai-attributes.txt'), 'utf8').split('\n');
const general = new Set<string>(Object.values(semantic).filter((value) => typeof value === 'string'));
/** In the conventions for MCP, which are part of those for GenAI. */
const ofMcp = ['mcp.method.name'];

test('every attribute that a span may have is one of the conventions that the file names, or ours', () => {
  const names = Object.values({ ...attribute, ...contentAttribute });
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/@opentelemetry/semantic-conventions/package.json'), 'utf8'));

  expect(conventions.general).toBe(version);
  expect(names.filter((name) => name.startsWith('gen_ai.') && !genAi.includes(name))).toEqual([]);
  expect(names.filter((name) => !name.startsWith('gen_ai.') && !general.has(name) && !ofMcp.includes(name))).toEqual([]);
  expect(Object.values(ownAttribute).filter((name) => !name.startsWith('longhaul.'))).toEqual([]);
});

test('no attribute holds a text of a tenant, but those that only go with the consent of deployment and organization', () => {
  const texts = [
    'gen_ai.system_instructions',
    'gen_ai.input.messages',
    'gen_ai.output.messages',
    'gen_ai.retrieval.query.text',
    'url.full',
    'url.query',
  ];

  expect(
    Object.values(attribute).filter((name) => texts.includes(name) || name.startsWith('gen_ai.tool.call.arg') || name.endsWith('.result')),
  ).toEqual([]);
});

test('docs/telemetry.md names the versions of the conventions and our own attributes', () => {
  const text = readFileSync(join(root, 'docs/telemetry.md'), 'utf8').replaceAll('\n', ' ');

  expect(text).toContain(`GenAI conventions ${conventions.genAi} and semantic conventions ${conventions.general}`);
  expect(Object.values(ownAttribute).filter((name) => name !== 'longhaul.workspace.id' && !text.includes(`\`${name}\``))).toEqual([]);
});

test('the origin of a trace survives as text, and anything else is none', () => {
  const origin = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };

  expect(parseOrigin(originText(origin))).toEqual(origin);
  expect(parseOrigin(originText({ ...origin, spanId: null, isSampled: false }))).toEqual({ ...origin, spanId: null, isSampled: false });
  for (const text of [undefined, null, 7, '', 'a', `${'A'.repeat(32)}-${'b'.repeat(16)}-01`, `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`])
    expect(parseOrigin(text)).toBeNull();
});

test('ids of spans and traces have the form of W3C Trace Context', () => {
  const runId = '01960000-0000-7000-8000-000000000017';

  expect(traceIdOf(runId)).toMatch(/^[0-9a-f]{32}$/);
  expect(spanIdOf(runId)).toMatch(/^[0-9a-f]{16}$/);
  expect(spanIdOf(runId)).not.toBe(spanIdOf(runId.replace('7', '8')));
});
