import { afterAll, expect, test } from '@jest/globals';
import { executeCode } from '../../../activities/tools/builtin/code-exec.ts';
import type { ToolExecution } from '../../../activities/tools/calls/outcome.ts';
import type { CodeExecToolConfig } from '../../../db/tools/kind-config.ts';
import { completeCodeExecConfig } from '../../../domain/tools/kind-config.ts';
import { createSandbox, type Sandbox } from '../../../ports/sandbox/sandbox.ts';

/** As on a machine without bubblewrap: what every deployment can do. */
const sandbox = createSandbox({ hasJail: () => Promise.resolve(false) });

afterAll(() => sandbox.close());

function run(config: Partial<CodeExecToolConfig>, args: Record<string, unknown>, box: Sandbox | null = sandbox) {
  const execution: ToolExecution = {
    tool: {
      toolId: 'tool-1',
      kind: 'code_exec',
      slug: 'code',
      config: { ...completeCodeExecConfig({ language: 'javascript', ...config }) },
    },
    toolCallId: 'call-1',
    args,
    run: { id: 'run-1' },
    place: { organizationId: 'organization-1', workspaceId: 'workspace-1' },
    secret: () => Promise.reject(new Error('a program sees no secret')),
    transact: () => Promise.reject(new Error('a program reads no rows')),
    variables: {},
    policy: { allowHttp: false, exceptions: [] },
    timeoutMs: 60_000,
    signal: AbortSignal.timeout(120_000),
    hops: 1,
    readOutput: () => Promise.resolve(null),
  };
  return executeCode({ sandbox: box }, execution);
}

test('what the model sends gives its value and what it printed', async () => {
  expect(await run({}, { code: 'console.log(1); input.x + 1', input: { x: 1 } })).toEqual({
    status: 'succeeded',
    type: 'json',
    value: { value: 2, console: '1' },
  });
});

test('a fixed program takes the arguments, and no code among them', async () => {
  expect(await run({ source: 'input.code' }, { code: '"not run"' })).toMatchObject({ value: { value: '"not run"' } });
});

test('an error of the program is told with the end of what it printed', async () => {
  expect(await run({}, { code: 'console.log("got here"); null.x' })).toMatchObject({
    status: 'failed',
    error: { code: 'invalid_arguments', reason: 'code_failed', retryable: false, message: expect.stringMatching(/^TypeError.*got here/s) },
  });
});

test('a limit says which, and is not tried again', async () => {
  expect(await run({ cpu_ms: 100 }, { code: 'for (;;) {}' })).toMatchObject({
    error: { code: 'sandbox_limit', reason: 'cpu', retryable: false },
  });
});

test('strict isolation that is not there is refused at the call, never weakened', async () => {
  for (const language of ['javascript', 'python', 'shell'] as const)
    expect(await run({ language, isolation: 'strict' }, { code: '1' })).toMatchObject({ error: { code: 'isolation_unavailable' } });
  expect(await run({ language: 'python' }, { code: '1' })).toMatchObject({ error: { code: 'isolation_unavailable' } });
});

test('with CODE_EXEC=off nothing is run', async () => {
  expect(await run({}, { code: '1' }, null)).toMatchObject({ error: { code: 'tool_unavailable', reason: 'code_exec_off' } });
});
