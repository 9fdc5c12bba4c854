import Type from 'typebox';
import { Value } from 'typebox/value';
import type { CodeReply } from '../../../ports/sandbox/sandbox.ts';
import type { ToolDeps } from '../tool-deps.ts';
import { exactOutcome, failed, type ToolExecution, type ToolOutcome } from '../calls/outcome.ts';

/** Config of a tool of kind `code_exec` as the API stored it. */
const CodeExecConfig = Type.Object({
  language: Type.Enum(['javascript', 'python', 'shell']),
  isolation: Type.Enum(['default', 'strict']),
  memory_mb: Type.Integer(),
  cpu_ms: Type.Integer(),
  source: Type.Union([Type.String(), Type.Null()]),
});

/** How many characters of a failed program's output go into its error. */
const tailChars = 500;

const limitTexts: Readonly<Record<Extract<CodeReply, { kind: 'limit' }>['reason'], string>> = {
  cpu: 'the program took more CPU time than the tool allows',
  memory: 'the program took more memory than the tool allows',
  stack: 'the program called itself too deeply',
  output: 'the program gave more than 1 MiB',
  crash: 'the program ended its interpreter',
};

/**
 * Runs a program in the sandbox: the author's own, with the arguments as its input, or the one that the model sent. It sees no secret.
 * Its result is `{value, console}`; an error of the program is a failed result that contains it.
 */
export async function executeCode({ sandbox }: Pick<ToolDeps, 'sandbox'>, execution: ToolExecution): Promise<ToolOutcome> {
  if (sandbox === null) return failed('tool_unavailable', 'this deployment runs no code', false, 'code_exec_off');
  const config = Value.Parse(CodeExecConfig, execution.tool.config);
  const { args } = execution;
  const code = config.source ?? args['code'];
  if (typeof code !== 'string') return failed('invalid_arguments', 'code must be a text', false);

  const reply = await sandbox.run(
    {
      language: config.language,
      isolation: config.isolation,
      code,
      input: config.source === null ? (args['input'] ?? null) : args,
      memoryMb: config.memory_mb,
      cpuMs: config.cpu_ms,
    },
    execution.signal,
  );
  switch (reply.kind) {
    case 'done':
      return exactOutcome({ value: reply.value, console: reply.console });
    case 'failed':
      return failed(
        'invalid_arguments',
        `${reply.message.slice(0, 1_000 - tailChars - 20)}${printed(reply.console)}`,
        false,
        'code_failed',
      );
    case 'limit':
      return failed('sandbox_limit', `${limitTexts[reply.reason]}${printed(reply.console)}`, false, reply.reason);
    case 'unavailable':
      return failed('isolation_unavailable', reply.message, false);
    default:
      return reply satisfies never;
  }
}

function printed(text: string): string {
  const tail = text.trimEnd().slice(-tailChars);
  return tail === '' ? '' : `\nprinted last:\n${tail}`;
}
