import { readRunFiles, type RunFile } from '../../db/attachments/run-attachments.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { ResolvedModel } from '../../ports/models/models.ts';
import { FileBytes, type PromptBlock, type PromptMessage } from '../model/prompt/prompt.ts';
import type { ModelStepRequest } from '../model/step.ts';
import { truncateText } from '../tools/calls/output.ts';
import { bytesOfFile, isReadable, maxFileBytes, textOfFile, type FileDeps } from './file-text.ts';

/** The rows of files and the dependencies to read them. */
export interface FileSource extends FileDeps {
  readonly transact: <R>(work: (tx: TenantTransaction) => Promise<R>) => Promise<R>;
}

type AttachedBlock = Extract<PromptBlock, { type: 'attachment' }>;

const maxFiles = 20;
const maxTextChars = 65_536;
const maxAllTextChars = 262_144;
const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const audioTypes: ReadonlySet<string> = new Set(['audio/mpeg', 'audio/wav']);

/** What remains of the request's budget for files. */
interface FileBudget {
  files: number;
  bytes: number;
  chars: number;
}

/**
 * Replaces the names of files in the history: with bytes where the model accepts them, otherwise with text, otherwise with a note on how to read them. The
 * newest come first when the budget does not cover all.
 */
export async function withFiles(source: FileSource, runId: string, request: ModelStepRequest): Promise<ModelStepRequest> {
  const blocks = request.messages.flatMap((message) => (message.role === 'user' ? message.content.filter(isAttached) : []));
  if (blocks.length === 0) return request;
  const ids = [...new Set(blocks.map((block) => block.attachment_id))];
  const files = new Map((await source.transact((tx) => readRunFiles(tx, runId, ids))).map((file) => [file.id, file]));
  const reader = { source, model: request.model, files, room: { files: maxFiles, bytes: maxFileBytes, chars: maxAllTextChars } };

  const messages: PromptMessage[] = [];
  for (const message of request.messages.toReversed()) messages.unshift(await readMessage(reader, message));
  return { ...request, messages };
}

interface Reader {
  readonly source: FileSource;
  readonly model: ResolvedModel;
  readonly files: ReadonlyMap<string, RunFile>;
  readonly room: FileBudget;
}

function isAttached(block: PromptBlock): block is AttachedBlock {
  return block.type === 'attachment';
}

async function readMessage(reader: Reader, message: PromptMessage): Promise<PromptMessage> {
  if (message.role !== 'user' || !message.content.some(isAttached)) return message;
  const content: PromptBlock[] = [];
  for (const block of message.content) content.push(isAttached(block) ? await readBlock(reader, block) : block);
  return { ...message, content };
}

async function readBlock(reader: Reader, block: AttachedBlock): Promise<PromptBlock> {
  const file = reader.files.get(block.attachment_id);
  if (!file || file.state !== 'ready') return note(block, 'It can not be used.');
  const { room, model, source } = reader;

  if (takesBytes(model, file.mediaType) && room.files > 0 && file.sizeBytes <= room.bytes) {
    const bytes = await bytesOfFile(source, file);
    if (bytes === null) return note(block, 'It can not be used.');
    room.files -= 1;
    room.bytes -= bytes.length;
    return { type: 'file', name: file.filename, mediaType: file.mediaType, data: new FileBytes(bytes) };
  }
  const text = room.chars > 0 && room.files > 0 ? await textOfFile(source, file) : null;
  if (text === null) return note(block, isReadable(file.mediaType) ? readOn(block, 0) : 'It can not be read as text.');

  const part = truncateText(text, Math.min(maxTextChars, room.chars));
  room.files -= 1;
  room.chars -= part.length;
  const rest = part.length < text.length ? `\n[${part.length} of ${text.length} characters. ${readOn(block, part.length)}]` : '';
  return { type: 'file_text', name: file.filename, mediaType: file.mediaType, attachmentId: file.id, text: part + rest };
}

function takesBytes({ capabilities }: ResolvedModel, mediaType: string): boolean {
  if (imageTypes.has(mediaType)) return capabilities.image;
  if (audioTypes.has(mediaType)) return capabilities.audio;
  return mediaType === 'application/pdf' && capabilities.pdf;
}

function note(block: AttachedBlock, how: string): PromptBlock {
  return {
    type: 'file_text',
    name: block.name,
    mediaType: block.media_type,
    attachmentId: block.attachment_id,
    text: `[The file (${block.bytes} bytes) is not shown here. ${how}]`,
  };
}

function readOn(block: AttachedBlock, offset: number): string {
  return `A tool for reading attachments, where there is one, gives it with attachment_id "${block.attachment_id}" and offset ${offset}.`;
}
