import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { CodeJob } from './job.ts';
import { resultFd } from './launch.ts';

/** Returns what the driver reads on stdin. The parser is included only where it may be needed. */
export function javascriptStdin({ code, input }: CodeJob): string {
  return JSON.stringify({ code, input: input ?? null, parser: /\bawait\b/.test(code) ? parserText() : null });
}

let readParser: string | null = null;

/** Returns the parser's own file, read once per process: the jail sees no packages. */
function parserText(): string {
  return (readParser ??= readFileSync(createRequire(import.meta.url).resolve('acorn'), 'utf8'));
}

/**
 * The driver yields the value of the last expression, or what the code returns; promises are awaited. Code with a top-level await becomes the body of an async
 * function, in which its final statements return their value (V8 offers that only for code that can import nothing). The lines of the code keep their numbers.
 */
export const javascriptDriver = `
const fs = require('node:fs');
const { Script, constants } = require('node:vm');
const { code, input, parser } = JSON.parse(fs.readFileSync(0, 'utf8'));
globalThis.input = input;
const end = (reply) => { fs.writeSync(${resultFd}, JSON.stringify(reply)); process.exit(0); };
const lineOf = ({ stack }) => { const found = /code\\.js:(\\d+)/.exec(String(stack)); return found ? ' (line ' + found[1] + ')' : ''; };
const failed = (error) => end({ error: error instanceof Error ? error.name + ': ' + error.message + lineOf(error) : 'the code threw ' + String(error) });
const plain = (key, value) => (typeof value === 'bigint' ? String(value) : value);
const compiled = (text) => new Script(text, { filename: 'code.js', importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER });
const awaits = (node) => {
  if (node === null || typeof node !== 'object') return false;
  if (Array.isArray(node)) return node.some(awaits);
  if (node.type === 'AwaitExpression' || (node.type === 'ForOfStatement' && node.await)) return true;
  return !/Function/.test(node.type) && Object.values(node).some(awaits);
};
const values = (node) => {
  if (!node) return [];
  if (node.type === 'ExpressionStatement') return [node.start];
  if (node.type === 'BlockStatement') return values(node.body.findLast(({ type }) => type !== 'EmptyStatement' && type !== 'FunctionDeclaration'));
  if (node.type === 'IfStatement') return [...values(node.consequent), ...values(node.alternate)];
  return node.type === 'TryStatement' ? [...values(node.block), ...values(node.handler && node.handler.body)] : [];
};
const parsed = () => {
  const acorn = {};
  new Function('exports', 'module', parser)(acorn, {});
  return acorn.parse(code, { ecmaVersion: 'latest', allowAwaitOutsideFunction: true, allowReturnOutsideFunction: true });
};
const returning = (body) => values({ type: 'BlockStatement', body }).reduceRight((text, at) => text.slice(0, at) + 'return ' + text.slice(at), code);
const asBody = (text) => {
  try {
    return compiled('(async () => {' + text + '\\n})()');
  } catch (error) {
    const lines = code.split('\\n').length;
    throw Number((/code\\.js:(\\d+)/.exec(error.stack) || [])[1]) > lines ? new SyntaxError('Unexpected end of input (line ' + lines + ')') : error;
  }
};
const program = () => {
  let tree = null;
  let broken = null;
  try {
    tree = parser === null ? null : parsed();
  } catch (error) {
    broken = error; // V8 says better what is wrong
  }
  if (tree !== null && awaits(tree)) return asBody(returning(tree.body));
  try {
    return compiled(code);
  } catch (error) {
    if (!/return|await/.test(error.message)) throw error;
    const body = asBody(code);
    if (broken !== null) throw new SyntaxError(broken.message.replace(/ \\((\\d+):\\d+\\)$/, ' (line $1)'));
    return body;
  }
};
process.on('uncaughtException', failed);
process.on('unhandledRejection', failed);
process.on('beforeExit', () => end({ error: 'the promise that the code gave never settles' }));
(async () => program().runInThisContext())().then(
  (value) => end({ value: JSON.parse(JSON.stringify(value, plain) ?? 'null') }),
).catch(failed);
`;
