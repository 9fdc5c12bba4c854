import { createHash } from 'node:crypto';
import { usableAttachment } from '../../db/attachments/attachments.ts';
import { organizationOf } from '../../db/reach.ts';
import { openReadOnly, tenantOf } from '../../db/scope.ts';
import { sha256Of, toolHash, type NewToolkitRevision } from '../../db/toolkits/revisions.ts';
import type { ToolkitTool } from '../../db/toolkits/toolkit-tool.ts';
import type { Toolkit } from '../../db/toolkits/toolkit.entity.ts';
import { requireToolkit } from '../../db/toolkits/toolkits.ts';
import { completeHttpConfig, effectOfMethod, type HttpConfigDraft } from '../../db/tools/tool-config.ts';
import { limitDocumentBytes, type OpenApiOperation, type OpenApiReading } from '../../ports/openapi-reader.ts';
import { readWhole } from '../../ports/storage.ts';
import { fail, Failure, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import { actorOf } from '../http/audit.ts';
import type { Ctx, IdentifyRequest } from '../http/operation.ts';
import { toolChecks } from './tool-checks.ts';
import { shapeOf, type ToolChecks } from './tool-rules.ts';
import type { ManualTool, ToolkitRevisionCreate } from './toolkit-revision.schema.ts';

/** The tools that a source gives, what else it holds, and the hash of the source. */
export interface SourceTools {
  readonly tools: readonly ToolkitTool[];
  readonly sourceHash: string;
  readonly leftOut: NewToolkitRevision['leftOut'];
}

/**
 * Reads a document before the transaction begins: it may take seconds. What is wrong with it is given, not thrown: the handler tells it in its
 * turn, after what is wrong with the toolkit. Null for other sources and for a toolkit that the caller doesn't see.
 */
export async function readSource(request: IdentifyRequest<ToolkitRevisionCreate>): Promise<SourceTools | Failure | null> {
  const { source } = request.body;
  if (source.type !== 'openapi') return null;
  try {
    const { tx } = openReadOnly(request.deps.db, {
      tenant: tenantOf(request.caller),
      actor: actorOf(request.caller),
      correlationId: request.correlationId,
    });
    const ctx = { ...tx, caller: request.caller, floor: request.floor };
    await requireToolkit(ctx, String(request.params['toolkit_id']));
    if ((source.document === undefined) === (source.attachment_id === undefined))
      throw invalid('/source', 'oneOf', 'Either a document or an attachment is demanded.');

    const isInline = source.document !== undefined;
    const document = source.document ?? (await bytesOfAttachment(request, ctx, source.attachment_id ?? ''));
    const choice = { include: source.include ?? null, exclude: source.exclude ?? [] };
    const reading = await request.deps.openApi.read(organizationOf(request.caller), { document, ...choice });
    refuseProblems(reading, isInline ? '/source/document' : '/source/attachment_id');
    return {
      tools: reading.operations.map(toToolkitTool),
      sourceHash: sha256Of([createHash('sha256').update(document).digest('hex'), choice]),
      leftOut: { told: reading.leftOut, count: reading.leftOutCount },
    };
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** The tools that an author describes. Throws 422 for a config or schema that can't be used. */
export async function toolsByHand(ctx: Ctx, toolkit: Toolkit, tools: readonly ManualTool[]): Promise<SourceTools> {
  const checks = await toolChecks(ctx, toolkit);
  const seen = new Set<string>();
  const made: ToolkitTool[] = [];
  for (const [position, tool] of tools.entries()) {
    const pointer = `/source/tools/${position}`;
    if (seen.has(tool.name)) throw invalid(`${pointer}/name`, 'uniqueItems', 'Another tool has the same name.');
    seen.add(tool.name);
    made.push(await fromAuthor(tool, checks).catch((error: unknown) => rethrowBelow(pointer, error)));
  }
  return { tools: made, sourceHash: sha256Of(tools), leftOut: { told: [], count: 0 } };
}

async function bytesOfAttachment(
  { deps }: IdentifyRequest,
  ctx: Parameters<typeof usableAttachment>[0],
  attachmentId: string,
): Promise<Buffer> {
  const attachment = await usableAttachment(ctx, attachmentId, '/source/attachment_id');
  if (attachment.sizeBytes > limitDocumentBytes)
    throw invalid('/source/attachment_id', 'maxLength', `must be at most ${limitDocumentBytes} bytes`, { limit: limitDocumentBytes });
  return readWhole(deps.storage, attachment, limitDocumentBytes);
}

function refuseProblems({ problems, unknown }: OpenApiReading, pointer: string): void {
  const errors = problems.map((problem): Violation => ({
    in: 'body',
    pointer,
    name: null,
    rule: problem.rule,
    message: problem.message,
    params: { at: problem.pointer.slice(0, 500) },
  }));
  for (const { list, position } of unknown) {
    const place = `/source/${list}/${position}`;
    errors.push({ in: 'body', pointer: place, name: null, rule: 'reference', message: 'names no operation and no tag of the document' });
  }
  if (errors.length > 0) throw fail('validation_failed', { detail: 'The document can not be used.', errors: errors.slice(0, 50) });
}

function toToolkitTool(operation: OpenApiOperation): ToolkitTool {
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

/** Methods that a client may repeat (RFC 9110 §9.2.2); what a server makes of it is its own affair, so it only proposes. */
function isRepeatable(method: string): boolean {
  return method !== 'POST' && method !== 'PATCH';
}

/** The hash covers how the tool is called, too: a changed path or header asks for an approval like a changed text. */
function withHash(tool: Omit<ToolkitTool, 'hash'>): ToolkitTool {
  const whole = { ...tool, annotations: { ...tool.annotations, request_sha256: sha256Of(tool.execution?.config) } };
  return { ...whole, hash: toolHash(whole) };
}

function rethrowBelow(pointer: string, error: unknown): never {
  if (!(error instanceof Failure) || error.errors.length === 0) throw error;
  const errors = error.errors.map((violation) => ({ ...violation, pointer: pointer + (violation.pointer ?? '') }));
  throw fail(error.code, { detail: error.detail, errors });
}
