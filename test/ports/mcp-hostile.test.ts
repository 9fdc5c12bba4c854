import { expect, test } from '@jest/globals';
import { McpError } from '../../ports/mcp/errors.ts';
import { readFoundTools } from '../../ports/mcp/found-tools.ts';

const schemas = { read: async () => ({ problems: [], ignored: [] }) };

test('tools of a server are kept up to 4 MiB together', async () => {
  const offered = Array.from({ length: 200 }, (_, n) => ({
    name: `t${n}`,
    inputSchema: { type: 'object' as const, description: 'x'.repeat(60_000) },
  }));

  const { tools, leftOut } = await readFoundTools(offered, schemas);

  expect(Buffer.byteLength(JSON.stringify(tools))).toBeLessThan(4.1 * 1024 * 1024);
  expect(tools.length + leftOut.length).toBe(200);
  expect(leftOut[0]?.reason).toBe('exceeds 4 MiB together with the earlier ones');
});

test('what a server says of its failure can be kept: no U+0000, no half character', () => {
  const { message } = new McpError('refused', `no\0\ud83d${'x'.repeat(600)}`);

  expect(message).toHaveLength(500);
  expect(message).toMatch(/^no\ufffd\ufffdx+$/);
});
