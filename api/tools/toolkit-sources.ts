import { createHash } from 'node:crypto';
import { usableAttachment } from '../../domain/attachments/usable-attachment.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { openReadOnly, tenantOf } from '../../db/transaction.ts';
import { requireToolkit } from '../../db/toolkits/toolkits.ts';
import { sha256Of } from '../../domain/toolkits/hashes.ts';
import { toolOfOperation, type SourceTools } from '../../domain/toolkits/source-tools.ts';
import { maxDocumentBytes, type OpenApiReading } from '../../ports/openapi/reader.ts';
import { readWhole } from '../../ports/storage/storage.ts';
import { fail, Failure, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import { actorOf } from '../http/operation/audit.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { openApiReaderOf } from './dependencies.ts';
import type { ToolkitRevisionCreate } from './toolkit-revision.schema.ts';

/**
 * Reads a document before the transaction begins, since that may take seconds. Returns a failure instead of throwing it: the handler throws it after its own
 * checks of the toolkit. Null for other sources.
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
      throw invalid('/source', 'oneOf', 'Either a document or an attachment is required.');

    const isInline = source.document !== undefined;
    const document = source.document ?? (await bytesOfAttachment(request, ctx, source.attachment_id ?? ''));
    const choice = { include: source.include ?? null, exclude: source.exclude ?? [] };
    const reading = await openApiReaderOf(request.deps).read(organizationOf(request.caller), { document, ...choice });
    refuseProblems(reading, isInline ? '/source/document' : '/source/attachment_id');
    return {
      tools: reading.operations.map(toolOfOperation),
      sourceHash: sha256Of([createHash('sha256').update(document).digest('hex'), choice]),
      leftOut: { reported: reading.leftOut, count: reading.leftOutCount },
    };
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

async function bytesOfAttachment(
  { deps }: IdentifyRequest,
  ctx: Parameters<typeof usableAttachment>[0],
  attachmentId: string,
): Promise<Buffer> {
  const attachment = await usableAttachment(ctx, attachmentId, '/source/attachment_id');
  if (attachment.sizeBytes > maxDocumentBytes)
    throw invalid('/source/attachment_id', 'maxLength', `must be at most ${maxDocumentBytes} bytes`, { limit: maxDocumentBytes });
  return readWhole(deps.storage, attachment, maxDocumentBytes);
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
    errors.push({
      in: 'body',
      pointer: place,
      name: null,
      rule: 'reference',
      message: 'names neither an operation nor a tag of the document',
    });
  }
  if (errors.length > 0) throw fail('validation_failed', { detail: 'The document cannot be used.', errors: errors.slice(0, 50) });
}
