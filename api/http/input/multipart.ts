import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { fail, Failure, type Violation } from '../../../workflows/contracts/failure.ts';
import { tooLarge } from './body.ts';
import { formOverheadBytes } from './bounds.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { closed } from './schema.ts';
import { isForbiddenText } from './text-scan.ts';
import { validatorFor } from './validator.ts';

/** The one file of a form while it arrives. */
export interface FormFile {
  /** What the client calls it, as it came. */
  readonly filename: string;
  /** To be read to its end. Throws `payload_too_large` when the body is over its limit, `malformed_request` when it ends early. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface FileReceiver<R> {
  receive(file: FormFile): Promise<R>;
  /** Undoes `receive` when the rest of the form is refused. */
  discard(received: R): Promise<void>;
}

/** Reads the form of a `multipart` operation. Returns its validated fields and the result of receiving the file. */
export type FormReader = <R>(
  receiver: FileReceiver<R>,
) => Promise<{ readonly fields: Readonly<Record<string, string>>; readonly received: R }>;

/** The form of one request. */
export interface RequestForm {
  readonly read: FormReader;
  /** Discards what a receiver has stored of it, if the request is refused afterwards or was answered before. */
  discard(): Promise<void>;
}

/** Name of the one part that is a file. */
export const fileField = 'file';

const limits = { fieldNameSize: 100, fieldSize: 1_024, fields: 20, files: 2, parts: 22, headerPairs: 20 };

interface Form<R> {
  readonly fields: [name: string, text: string][];
  readonly faults: Violation[];
  received: { readonly value: R } | null;
}

/** The reader of one request of an operation; its validator compiles on first use. */
export function formReader(operation: RegisteredOperation): (request: FastifyRequest, maxBytes: number) => RequestForm {
  const { [fileField]: _, ...properties } = (operation.body as TObject).properties; // the form of an operation is an object
  const validator = validatorFor(closed(properties), 'form');

  return (request, maxBytes) => {
    let discard = (): Promise<void> => Promise.resolve();
    const read: FormReader = async (receiver) => {
      const form = await readParts(request.raw, receiver, maxBytes);
      const fields = Object.fromEntries(form.fields);
      const violations = [...form.faults, ...validator.check(fields, true)];
      const { received } = form;
      if (violations.length === 0 && received) {
        discard = () => receiver.discard(received.value);
        return { fields, received: received.value };
      }

      if (received) await receiver.discard(received.value);
      else if (violations.length === 0) violations.push(faultAt(fileField, 'required', 'is required'));
      throw fail('validation_failed', { errors: violations });
    };
    return { read, discard: () => discard() };
  };
}

/** The file that a form is receiving. */
interface Receiving {
  readonly stream: BusboyFileStream;
  /** Never rejects. */
  readonly done: Promise<void>;
}

async function readParts<R>(request: IncomingMessage, receiver: FileReceiver<R>, maxBytes: number): Promise<Form<R>> {
  const form: Form<R> = { fields: [], faults: [], received: null };
  if (Number(request.headers['content-length'] ?? 0) === 0 && request.headers['transfer-encoding'] === undefined) return form;
  const parser = parserFor(request);
  const fault = Promise.withResolvers<never>();
  let receiving: Receiving | null = null;

  parser.on('field', (name, text, isNameCut, isTextCut) => addField(form, { name, text, isTruncated: isNameCut || isTextCut }));
  parser.on('file', (name, stream, filename) => {
    if (name === fileField && receiving === null) receiving = receive(form, receiver, { stream, filename }, fault.reject);
    else skipFile(form, name, stream);
  });
  const parsed = new Promise<void>((resolve, reject) => parser.once('finish', resolve).on('error', reject));
  const stop = watch(request, parser, maxBytes, fault.reject);
  // Set by a listener, which the compiler does not follow.
  const current = (): Receiving | null => receiving;

  request.pipe(parser);
  try {
    await Promise.race([parsed, fault.promise]);
    await Promise.race([current()?.done, fault.promise]);
    return form;
  } catch (error) {
    request.unpipe(parser);
    const failure = error instanceof Failure ? error : malformed(error);
    current()?.stream.destroy(failure);
    parser.destroy();
    await current()?.done;
    if (form.received) await receiver.discard(form.received.value);
    throw failure;
  } finally {
    stop();
  }
}

function receive<R>(
  form: Form<R>,
  receiver: FileReceiver<R>,
  file: { readonly stream: BusboyFileStream; readonly filename: string | undefined },
  reject: (error: unknown) => void,
): Receiving {
  const { stream, filename } = file;
  // Its reader may not listen yet when it breaks off.
  stream.on('error', () => undefined);
  const done = receiver.receive({ filename: filename ?? '', bytes: stream }).then(
    (value) => void (form.received = { value }),
    // A receiver that gives up early leaves a rest that would otherwise never be read.
    reject,
  );
  return { stream, done };
}

function skipFile<R>(form: Form<R>, name: string | undefined, stream: BusboyFileStream): void {
  form.faults.push(name === fileField ? faultAt(name, 'maxItems', 'must be one file') : unknownField(name ?? ''));
  stream.on('error', () => undefined).resume();
}

/** Ends the reading of a body that is too long or breaks off. */
function watch(request: IncomingMessage, parser: BusboyInstance, maxBytes: number, reject: (failure: Failure) => void): () => void {
  let length = 0;
  const count = (bytes: Buffer): void => {
    length += bytes.byteLength;
    if (length > maxBytes + formOverheadBytes) reject(tooLarge(maxBytes, true));
  };
  const breakOff = (): void => {
    if (!request.complete) reject(malformed(null));
  };
  const flood = (): void => reject(malformed(null));
  parser.on('partsLimit', flood).on('fieldsLimit', flood);
  request.on('data', count).on('close', breakOff).on('error', breakOff);
  return () => request.off('data', count).off('close', breakOff).off('error', breakOff);
}

function parserFor(request: IncomingMessage): BusboyInstance {
  try {
    // The media type is present; the parser checks whether it has a boundary.
    return new Busboy({ headers: request.headers as BusboyHeaders, limits });
  } catch (error) {
    throw malformed(error);
  }
}

function addField<R>(form: Form<R>, field: { readonly name: string; readonly text: string; readonly isTruncated: boolean }): void {
  const { name, text } = field;
  if (name === fileField) form.faults.push(faultAt(name, 'type', 'must be a file'));
  else if (isForbiddenText(text)) form.faults.push(faultAt(name, 'invalid_text', 'contains U+0000 or a lone surrogate'));
  else if (field.isTruncated) form.faults.push(faultAt(name.slice(0, 100), 'maxLength', 'is too long'));
  else if (form.fields.some(([known]) => known === name))
    form.faults.push(faultAt(name, 'duplicate_parameter', 'must be given exactly once'));
  else form.fields.push([name, text]);
}

function unknownField(name: string): Violation {
  return faultAt(name.slice(0, 100), 'unknown_parameter', 'is not a field of this form');
}

function faultAt(name: string, rule: string, message: string): Violation {
  return { in: 'form', pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, name: null, rule, message };
}

function malformed(cause: unknown): Failure {
  return fail('malformed_request', { detail: 'The form cannot be read.', cause });
}
