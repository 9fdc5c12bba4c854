import { specTypeSchemas, type JSONRPCMessage, type Tool } from '@modelcontextprotocol/client';
import { untagSchemas } from '../../workflows/contracts/tools/exact-json.ts';

/** The `_meta` key under which an unreadable tool holds the reason, in place of its content. */
const reasonName = 'longhaul/unreadable';
/** The `_meta` key under which a tool carries its output schema past the SDK. */
const outputName = 'longhaul/outputSchema';
const maxReasonChars = 200;
/** Deeper than any accepted schema; checks of a deeper tool would overflow the stack. */
const maxDepth = 64;

/**
 * Reduces the tools that a message lists to the fields that are read here, without the tags of inexact numbers, since the SDK refuses a whole list because of
 * an error in any field of one tool. A tool that is invalid by the protocol is replaced by one that holds the reason: `unreadableOf`. Other messages stay as
 * they are.
 */
export function withReadableTools<M extends JSONRPCMessage>(message: M): M {
  const tools = toolsIn(message);
  return tools.length === 0 ? message : { ...message, result: { ...Reflect.get(message, 'result'), tools: tools.map(readable) } };
}

function toolsIn(message: JSONRPCMessage): readonly unknown[] {
  const result: unknown = Reflect.get(message, 'result');
  const tools = isObject(result) ? result['tools'] : undefined;
  return Array.isArray(tools) ? tools : [];
}

/** Returns the names of the tools that a message lists. */
export function listedNames(message: JSONRPCMessage): string[] {
  return toolsIn(message).flatMap((tool) => (isObject(tool) && typeof tool['name'] === 'string' ? [tool['name']] : []));
}

/** Returns a placeholder for a tool that is omitted. */
export function unreadableTool(name: string, reason: string): Tool {
  return { name, inputSchema: { type: 'object' }, _meta: { [reasonName]: reason.slice(0, maxReasonChars) } };
}

/** Returns why a tool of a list can't be read; null for one that can. */
export function unreadableOf(tool: Tool): string | null {
  const reason = tool._meta?.[reasonName];
  return typeof reason === 'string' ? reason : null;
}

/** Returns the output schema of a listed tool; null when it has none. */
export function outputSchemaOf(tool: Tool): Record<string, unknown> | null {
  const schema = tool._meta?.[outputName];
  return isObject(schema) ? { ...schema } : null;
}

/**
 * The protocol of 2026-07-28 allows any output schema, earlier ones only schemas of objects: because of another one the SDK would refuse the whole list.
 * Nothing in the SDK needs the schema, so it travels outside the fields that the SDK validates.
 */
function withOutputAside({ outputSchema, ...tool }: Tool): Tool {
  return outputSchema === undefined ? tool : { ...tool, _meta: { [outputName]: outputSchema } };
}

function readable(raw: unknown): Tool {
  if (!isObject(raw)) return unreadableTool('', 'is not an object');
  const { name, title, description, inputSchema, outputSchema, annotations } = raw;
  const given = { name, title, description, inputSchema, outputSchema, annotations };
  // Null means absent, as many servers use it.
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== null));
  if (isDeeper(said, maxDepth)) return unreadableTool(nameOf(raw), `is nested more than ${maxDepth} levels deep`);
  const tool = untagSchemas(said);
  const judged = specTypeSchemas.Tool['~standard'].validate(tool);
  // The SDK's schemas are synchronous.
  const [issue] = 'issues' in judged ? (judged.issues ?? []) : [];
  if (issue === undefined) return withOutputAside(tool as unknown as Tool); // validated just above
  const place = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('/');
  return unreadableTool(nameOf(raw), `is not a tool as the protocol says: ${place}: ${issue.message}`);
}

function nameOf({ name }: Readonly<Record<string, unknown>>): string {
  return typeof name === 'string' ? name : '';
}

function isDeeper(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  return levels === 0 || Object.values(value).some((child) => isDeeper(child, levels - 1));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
