import { httpErrors, overflowWordings, toldErrors, type ErrorWording } from './error-wordings.ts';
import { eventShapes } from './event-shapes.ts';
import { streamBytes, streamChunks, streamTails, type ShapeOutcome, type StreamShape } from './stream-shapes.ts';
import { toldResults } from './told-results.ts';
import { usageShapes } from './usage-shapes.ts';

const protocols = { openai: 'Responses', anthropic: 'Messages', openai_compatible: 'Chat Completions', builtin: 'none' } as const;

/** The tables of docs/model-providers.md by their names, made of what the tests play. */
export const tables: Readonly<Record<string, string>> = {
  tails: shapeTable(streamTails),
  chunks: shapeTable(streamChunks),
  events: shapeTable(eventShapes),
  bytes: shapeTable(streamBytes),
  usage: table(
    ['server', 'seen at', 'protocol', 'what it counts', 'input', 'cached read', 'cached write', 'output', 'reasoning'],
    usageShapes.map(({ server, seen, adapter, usage, books }) => [
      server,
      seen,
      protocols[adapter],
      code(JSON.stringify(usage)),
      ...books.map(String),
    ]),
  ),
  results: table(
    ['state', 'source', 'what the model reads'],
    toldResults.map(({ state, source, reads }) => [state, source, code(typeof reads === 'string' ? reads : JSON.stringify(reads))]),
  ),
  errors: table(
    ['an error with a status', 'status', 'class', 'tried again'],
    httpErrors.map((wording) => [wording.name, String(wording.status), ...fateOf(wording)]),
  ),
  told: table(
    ['an error inside a 200 or a stream', 'class', 'tried again'],
    toldErrors.map((wording) => [wording.name, ...fateOf(wording)]),
  ),
  overflows: table(
    ['server', 'seen at', 'status'],
    overflowWordings.map(({ server, seen, status }) => [server, seen, String(status)]),
  ),
};

/** The document with its tables as they should be. */
export function withTables(document: string): string {
  return document.replaceAll(
    /(<!-- table: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_match, begin: string, name: string, end: string) => `${begin}\n${tables[name] ?? ''}\n\n${end}`,
  );
}

function shapeTable(shapes: readonly StreamShape[]): string {
  return table(
    ['what comes', 'seen at', 'outcome'],
    shapes.map(({ name, seen, outcome }) => [name, seen, outcomeText(outcome)]),
  );
}

function outcomeText({ text, reasoning, calls, stopReason, usage, warned, error }: ShapeOutcome): string {
  if (error) return `${error.class}, ${error.retryable ? 'tried again' : 'not tried again'}`;
  const parts = [
    ...(reasoning === undefined ? [] : ['reasoning']),
    ...(text === undefined ? [] : ['the text']),
    ...(calls === undefined ? [] : ['the call']),
    `${stopReason}`,
    ...(usage === undefined ? [] : [usage === null ? 'usage estimated' : 'usage counted']),
    ...(warned ? ['a warning in the log'] : []),
  ];
  return parts.join(', ');
}

function fateOf({ class: errorClass, retryable }: ErrorWording): string[] {
  return [errorClass, retryable ? 'yes' : 'no'];
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...lines.map(line)].join('\n');
}

function code(text: string): string {
  return text.includes('`') ? text : `\`${text}\``;
}
