import type { Tool } from '@modelcontextprotocol/client';
import type { TenantSchemas } from './json-schema.ts';

/** A tool as its server describes it, under the names of our wire. */
export interface FoundTool {
  readonly name: string;
  readonly title: string | null;
  readonly description: string;
  readonly input_schema: Record<string, unknown>;
  readonly output_schema: Record<string, unknown> | null;
  readonly annotations: Record<string, unknown>;
}

/** Tools of a server that can be kept, in its order, and why others are left out. */
export interface FoundTools {
  readonly tools: readonly FoundTool[];
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
}

const mostTools = 200;
const mostOffered = 1_000;
const limitName = 200;
const limitDescription = 16_384;
const limitPartBytes = 64 * 1024;
const limitTotalBytes = 4 * 1024 * 1024;

/** Sorts out what a server offers: what can't be approved as a whole is left out, never shortened into something else. */
export async function readFoundTools(offered: readonly Tool[], schemas: Pick<TenantSchemas, 'check'>): Promise<FoundTools> {
  const tools = new Map<string, FoundTool>();
  const leftOut: { name: string; reason: string }[] = [];
  let bytes = 0;
  for (const raw of offered.slice(0, mostOffered)) {
    const tool = toFoundTool(raw);
    const size = Buffer.byteLength(JSON.stringify(tool));
    const reason = unfit(tool, tools) ?? (bytes + size > limitTotalBytes ? 'is beyond 4 MiB together' : await unsound(tool, schemas));
    if (reason === null) {
      tools.set(tool.name, tool);
      bytes += size;
    } else leftOut.push({ name: tool.name.slice(0, limitName), reason });
  }
  return { tools: [...tools.values()], leftOut };
}

function toFoundTool(raw: Tool): FoundTool {
  const { name, title, description, inputSchema, outputSchema, annotations } = storable(raw) as Tool; // the same shape
  return {
    name,
    title: title ?? null,
    description: description ?? '',
    input_schema: { ...inputSchema },
    output_schema: outputSchema ? { ...outputSchema } : null,
    annotations: { ...annotations },
  };
}

function unfit(tool: FoundTool, kept: ReadonlyMap<string, unknown>): string | null {
  if (kept.has(tool.name)) return 'is listed twice';
  if (tool.name === '' || tool.name.length > limitName) return `has a name that is not of 1 to ${limitName} characters`;
  if ((tool.title ?? '').length > limitName) return `has a title of more than ${limitName} characters`;
  if (tool.description.length > limitDescription) return `has a description of more than ${limitDescription} characters`;
  const parts = [tool.input_schema, tool.output_schema, tool.annotations];
  if (parts.some((part) => Buffer.byteLength(JSON.stringify(part)) > limitPartBytes)) return 'has a schema of more than 64 KiB';
  return kept.size >= mostTools ? `is beyond the first ${mostTools}` : null;
}

async function unsound(tool: FoundTool, schemas: Pick<TenantSchemas, 'check'>): Promise<string | null> {
  const [problem] = await schemas.check(tool.input_schema);
  return problem ? `has an input schema that can not be used: ${problem.pointer} ${problem.message}`.slice(0, 300) : null;
}

/** What PostgreSQL keeps of a JSON value: U+0000 and lone surrogates become U+FFFD. Depth is bounded by the parser that read it. */
function storable(node: unknown): unknown {
  if (typeof node === 'string') return node.toWellFormed().replaceAll('\0', '\uFFFD');
  if (Array.isArray(node)) return node.map(storable);
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [storable(key), storable(value)]));
}
