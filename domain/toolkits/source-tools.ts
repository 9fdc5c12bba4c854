import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import type { OpenApiOperation } from '../../ports/openapi/reader.ts';
import { Failure, fail, invalid } from '../../workflows/contracts/failure.ts';
import { completeHttpConfig, effectOfMethod, type HttpConfigDraft } from '../tools/tool-config.ts';
import { shapeOf, type ToolChecks } from '../tools/tool-shape.ts';
import { sha256Of, toolHash } from './hashes.ts';
import type { NewToolkitRevision } from './revisions.ts';
import type { LeftOut } from '../../db/toolkits/left-out.ts';

/** The tools of a source, what was omitted from it, and its hash. */
export interface SourceTools {
  readonly tools: readonly ToolkitTool[];
  readonly sourceHash: string;
  readonly leftOut: NewToolkitRevision['leftOut'];
}

/** A tool as an author describes it; wire names, as in `ToolkitTool`. Its config has the form of kind http. */
export interface ManualTool {
  readonly name: string;
  readonly title?: string | null;
  readonly description: string;
  readonly input_schema?: Record<string, unknown>;
  readonly output_schema?: Record<string, unknown> | null;
  readonly effect?: 'read' | 'write';
  readonly concurrency?: 'read' | 'write' | 'exclusive';
  readonly config: Readonly<Record<string, unknown>>;
}

/** Converts the tools that an author describes. Throws 422 for a config or schema that can't be used. */
export async function toolsByHand(tools: readonly ManualTool[], checks: ToolChecks): Promise<SourceTools> {
  const seen = new Set<string>();
  const made: ToolkitTool[] = [];
  for (const [position, tool] of tools.entries()) {
    const pointer = `/source/tools/${position}`;
    if (seen.has(tool.name)) throw invalid(`${pointer}/name`, 'uniqueItems', 'Another tool has the same name.');
    seen.add(tool.name);
    made.push(await fromAuthor(tool, checks).catch((error: unknown) => rethrowBelow(pointer, error)));
  }
  return { tools: made, sourceHash: sha256Of(tools), leftOut: { reported: [], count: 0 } };
}

/** Converts an operation of an OpenAPI document into a tool. */
export function toolOfOperation(operation: OpenApiOperation): ToolkitTool {
  const { method } = operation;
  const config = { ...completeHttpConfig({ method, ...operation.request }) };
  const effect = effectOfMethod(method);
  return withHash({
    name: operation.name,
    title: operation.title,
    description: operation.description,
    input_schema: operation.input_schema,
    output_schema: operation.output_schema,
    annotations: {
      method,
      path: operation.path,
      readOnlyHint: effect === 'read',
      idempotentHint: isRepeatable(method),
      ...(operation.reducedTo === null ? {} : { input_schema_reduced_to: operation.reducedTo }),
    },
    proposed: { effect, concurrency: effect, idempotent: isRepeatable(method) },
    execution: { kind: 'http', config },
  });
}

async function fromAuthor(tool: ManualTool, checks: ToolChecks): Promise<ToolkitTool> {
  const shape = await shapeOf({ kind: 'http', config: tool.config, inputSchema: tool.input_schema, clientOwned: false }, checks);
  const { method } = tool.config as unknown as HttpConfigDraft; // checked by the operation's schema
  const effect = tool.effect ?? shape.effect;
  return withHash({
    name: tool.name,
    title: tool.title ?? null,
    description: tool.description,
    input_schema: shape.inputSchema,
    output_schema: tool.output_schema ?? null,
    annotations: { method, readOnlyHint: effect === 'read', idempotentHint: isRepeatable(method) },
    proposed: { effect, concurrency: tool.concurrency ?? effect, idempotent: isRepeatable(method) },
    execution: { kind: 'http', config: { ...shape.config } },
  });
}

/** Methods that a client may repeat (RFC 9110 §9.2.2); a server may not honour that, so it is only a proposal. */
function isRepeatable(method: string): boolean {
  return method !== 'POST' && method !== 'PATCH';
}

/** The hash also covers how the tool is called: a changed path or header needs an approval like a changed text. */
function withHash(tool: Omit<ToolkitTool, 'hash'>): ToolkitTool {
  const whole = { ...tool, annotations: { ...tool.annotations, request_sha256: sha256Of(tool.execution?.config) } };
  return { ...whole, hash: toolHash(whole) };
}

function rethrowBelow(pointer: string, error: unknown): never {
  if (!(error instanceof Failure) || error.errors.length === 0) throw error;
  const errors = error.errors.map((violation) => ({ ...violation, pointer: pointer + (violation.pointer ?? '') }));
  throw fail(error.code, { detail: error.detail, errors });
}

const maxReported = 200;
const maxTextChars = 500;

/** How a revision reports what it omitted: all in one text, and one by one up to `maxReported`. */
export function reportLeftOut(leftOut: readonly LeftOut[]) {
  const text = `Left out: ${leftOut.map(({ name, reason }) => `${name} ${reason}`).join('; ')}`;
  return {
    error: leftOut.length === 0 ? null : text.slice(0, maxTextChars).toWellFormed(),
    leftOut: leftOut.slice(0, maxReported),
  };
}
