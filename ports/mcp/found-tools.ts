import type { Tool } from '@modelcontextprotocol/client';
import { truncateText } from '../../workflows/contracts/truncate-text.ts';
import type { SchemaProblem, TenantSchemas } from '../json/schema.ts';
import { outputSchemaOf, unreadableOf } from './listing.ts';

/** A tool as its server describes it, under the names of our wire. */
export interface FoundTool {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly input_schema: Record<string, unknown>;
  readonly output_schema: Record<string, unknown> | null;
  readonly annotations: Record<string, unknown>;
}

/** A notice about one tool; its name precedes the reason. */
export interface ToolNotice {
  readonly name: string;
  readonly reason: string;
}

/** The tools of a server that can be stored, in its order, why others are omitted, and what is ignored in those that are stored. */
export interface FoundTools {
  readonly tools: readonly FoundTool[];
  readonly leftOut: readonly ToolNotice[];
  readonly ignored: readonly ToolNotice[];
}

const maxTools = 200;
const maxOffered = 1_000;
const maxNameChars = 200;
const maxReasonChars = 300;
const maxDescriptionChars = 16_384;
const maxPartBytes = 64 * 1024;
const maxTotalBytes = 4 * 1024 * 1024;

/** Selects from the tools that a server offers: a tool that can't be approved as a whole is omitted, never shortened into something else. */
export async function readFoundTools(offered: readonly Tool[], schemas: Pick<TenantSchemas, 'read'>): Promise<FoundTools> {
  const tools = new Map<string, FoundTool>();
  const leftOut: ToolNotice[] = [];
  const ignored: ToolNotice[] = [];
  let bytes = 0;
  for (const raw of offered.slice(0, maxOffered)) {
    const tool = toFoundTool(raw);
    const name = tool.name.slice(0, maxNameChars);
    const size = Buffer.byteLength(JSON.stringify(tool));
    const reason =
      unreadableOf(raw) ?? unfit(tool, tools) ?? (bytes + size > maxTotalBytes ? 'exceeds 4 MiB together with the earlier ones' : null);
    const schema = reason === null ? await schemas.read(tool.input_schema) : { problems: [], ignored: [] };
    const [problem] = schema.problems;
    if (reason !== null || problem !== undefined) {
      leftOut.push({ name, reason: reason ?? `has an input schema that cannot be used: ${textOfProblem(problem)}` });
      continue;
    }
    tools.set(tool.name, tool);
    bytes += size;
    ignored.push(...schema.ignored.map((each) => ({ name, reason: `has an ignored part in its input schema: ${textOfProblem(each)}` })));
  }
  const beyond = offered
    .slice(maxOffered)
    .map(({ name }) => ({ name: name.slice(0, maxNameChars), reason: `is beyond the first ${maxOffered}` }));
  return { tools: [...tools.values()], leftOut: [...leftOut, ...beyond], ignored };
}

/** Returns the text of a sync or check about tools that are not stored as their server wrote them, up to a limit of characters; null when all are. */
export function noticeOf({ leftOut, ignored }: Pick<FoundTools, 'leftOut' | 'ignored'>, limit: number): string | null {
  const list = (notes: readonly ToolNotice[]) => notes.map(({ name, reason }) => `${name} ${reason}`).join('; ');
  const parts = [
    ...(leftOut.length > 0 ? [`Left out: ${list(leftOut)}`] : []),
    ...(ignored.length > 0 ? [`Ignored: ${list(ignored)}`] : []),
  ];
  return parts.length === 0 ? null : truncateText(storableText(parts.join('. ')), limit);
}

function toFoundTool(raw: Tool): FoundTool {
  const tool = storable(raw) as Tool; // the same shape
  const { name, title, description, inputSchema, annotations } = tool;
  return {
    name,
    title: title ?? null,
    description: description ?? '',
    input_schema: { ...inputSchema },
    output_schema: outputSchemaOf(tool),
    annotations: { ...annotations },
  };
}

function unfit(tool: FoundTool, storableText: ReadonlyMap<string, unknown>): string | null {
  if (storableText.has(tool.name)) return 'is listed twice';
  if (tool.name === '' || tool.name.length > maxNameChars) return `has a name that is not of 1 to ${maxNameChars} characters`;
  if ((tool.title ?? '').length > maxNameChars) return `has a title of more than ${maxNameChars} characters`;
  if (tool.description.length > maxDescriptionChars) return `has a description of more than ${maxDescriptionChars} characters`;
  const parts = [tool.input_schema, tool.output_schema, tool.annotations];
  if (parts.some((part) => Buffer.byteLength(JSON.stringify(part)) > maxPartBytes)) return 'has a schema of more than 64 KiB';
  return storableText.size >= maxTools ? `is beyond the first ${maxTools}` : null;
}

function textOfProblem(problem: SchemaProblem | undefined): string {
  return `${problem?.pointer ?? ''} ${problem?.message ?? ''}`.slice(0, maxReasonChars);
}

/** Returns a JSON value that PostgreSQL can store: U+0000 and lone surrogates become U+FFFD. Depth is bounded where tools are read. */
function storable(node: unknown): unknown {
  if (typeof node === 'string') return storableText(node);
  if (Array.isArray(node)) return node.map(storable);
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [storableText(key), storable(value)]));
}

function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
