import { createHash } from 'node:crypto';

/** Names of the commands that people write in comments. */
export const commandNames = ['review', 'fix', 'ask', 'pause', 'resume', 'resolve', 'dismiss', 'config', 'help'] as const;
export type CommandName = (typeof commandNames)[number];

/** A command as written in a comment. */
export interface Command {
  readonly name: CommandName;
  /** The rest of the command's line; for `ask` everything that follows. Trimmed; empty: nothing. */
  readonly argument: string;
  /** SHA-256 (hex) of name and argument: an edit that changes neither does not change the command. */
  readonly textSha256: string;
}

const maxArgument = 4_000;

/**
 * Returns the command of a comment: `/name` at the start of its first non-empty line, outside of quotations and code. A line of a quotation or fence before it
 * counts as non-empty, so that an answer by mail, with the question above it, starts nothing. Null: there is none.
 */
export function readCommand(body: string): Command | null {
  const lines = body
    .replaceAll('\r\n', '\n')
    .replaceAll(/<!--[\s\S]*?(?:-->|$)/gu, '')
    .split('\n');
  const at = lines.findIndex((line) => line.trim() !== '');
  const line = lines[at];
  if (line === undefined || /^(?: {4}|\t)/u.test(line)) return null;
  const [, word, rest = ''] = commandLine.exec(line) ?? [];
  const name = commandNames.find((each) => each === word?.toLowerCase());
  if (name === undefined) return null;

  const argument = (name === 'ask' ? [rest, ...lines.slice(at + 1)].join('\n') : rest).trim().slice(0, maxArgument).toWellFormed();
  const textSha256 = createHash('sha256')
    .update(JSON.stringify([name, argument]))
    .digest('hex');
  return { name, argument, textSha256 };
}

/**
 * Splits `/review full` or `/dismiss <finding> reason` into a leading finding, if there is one, and the rest. A finding is named by its id or the start of its
 * fingerprint.
 */
export function splitArgument({ argument }: Command): { readonly finding: string | null; readonly rest: string } {
  const [, finding, rest = ''] = /^([0-9a-f]{8,64}|[0-9a-f-]{36})(?:\s+([\s\S]*))?$/iu.exec(argument) ?? [];
  return finding === undefined ? { finding: null, rest: argument } : { finding: finding.toLowerCase(), rest: rest.trim() };
}

const commandLine = /^ {0,3}\/([a-z]{2,10})(?:[ \t]+(.*))?[ \t]*$/iu;
