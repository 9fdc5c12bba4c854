import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { openApiDocument } from '../../api/http/openapi/openapi.ts';
import { areas } from '../../api/operations.ts';

// Four tools start as processes of their own.
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'longhaul-openapi-'));
const file = join(folder, 'openapi.json');
const config = join(import.meta.dirname, 'redocly.yaml');
const redoclyCli = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js');
writeFileSync(file, JSON.stringify(openApiDocument(areas, { publicUrl: 'https://longhaul.test', audience: 'all' })));

afterAll(() => rmSync(folder, { recursive: true }));

test('redocly lint finds nothing', async () => {
  const report = JSON.parse(await redocly('lint', file, '--config', config, '--format', 'json'));

  expect(
    report.problems.map(
      (problem: { ruleId: string; message: string; location: { pointer: string }[] }) =>
        `${problem.ruleId} ${problem.location[0]?.pointer}: ${problem.message}`,
    ),
  ).toEqual([]);
});

test('redocly scores it at 85 or better', async () => {
  const report = JSON.parse(await redocly('score', file, '--config', config, '--format', 'json'));

  expect(report.agentReadiness).toBeGreaterThanOrEqual(85);
});

test('nothing that a client relies on has gone since the committed document', async () => {
  // Accept an addition with: npm run -s openapi > test/contract/openapi.json
  const report = JSON.parse(
    await redocly('diff', join(import.meta.dirname, 'openapi.json'), file, '--config', config, '--format', 'json', '--fail-on', 'none'),
  );

  expect(report.changes.filter((change: { impact: string }) => change.impact === 'major')).toEqual([]);
  expect(report.summary.major).toBe(0);
});

test('spectral finds nothing, the OWASP rules no error', async () => {
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'spectral.mjs'), file], { maxBuffer: 50_000_000 });
  const findings: { code: string; severity: number; path: string; message: string }[] = JSON.parse(stdout);

  expect(findings.filter((finding) => finding.severity === 0 || !finding.code.startsWith('owasp:'))).toEqual([]);
});

async function redocly(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [redoclyCli, ...args], {
    maxBuffer: 50_000_000,
    env: { PATH: process.env['PATH'], REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  return stdout;
}
