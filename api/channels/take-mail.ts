import type { FoundChannel } from '../../db/channels/open-channel.ts';
import { isAllowed } from '../../domain/channels/channel-rules.ts';
import { storeFile } from '../../ports/storage/attachment-bytes.ts';
import { findDkimKeys } from '../../ports/channels/dkim-keys.ts';
import { fileOf, type BroughtFile, type InboundMessage, type InboundRequest } from '../../ports/channels/inbound.ts';
import { isVouchedFor, provingSignatures, verdictOf, type RelayVerdict } from '../../ports/channels/mail-proof.ts';
import type { MailAddress, MailFile, ReadMail } from '../../ports/channels/mail-work.ts';
import { member } from '../../ports/channels/members.ts';
import { readEmail } from '../../ports/channels/read-email.ts';
import { parseHookBody } from '../../ports/hooks/body.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import { WorkLimit, WorkProblem } from '../../ports/untrusted/work-errors.ts';
import { Failure, fail, invalid } from '../../workflows/contracts/failure.ts';
import type { IdentifyRequest } from '../http/operation/context.ts';

type MailDeps = Pick<IdentifyRequest['deps'], 'work' | 'storage' | 'env'>;

/**
 * Reads what a relay delivers, in a child of the pool: the mail itself, or `{raw, spf, dkim}`. Where the relay does not prove the author, the mail's own signatures are
 * verified. Files of a mail that is answered are stored; what is then refused leaves bytes that no row names, which the sweep removes. Throws 400 and 422 for what is no
 * mail, 503 while a name server does not answer.
 */
export async function takeMail(deps: MailDeps, channel: FoundChannel, request: InboundRequest): Promise<InboundMessage> {
  const { raw, verdict } = deliveredIn(request);
  const read = await readMail(deps, channel, raw);
  const { from } = read;
  if (from === null) throw invalid('/raw', 'author', 'must have exactly one From header with exactly one address');
  const mail = { ...read, from };
  const isAuthentic = channel.settings.require_authenticated === false || (await isProven(deps, channel, { mail, raw, verdict }));
  const message = readEmail({ mail, raw, isAuthentic, files: [], leftOut: [] }, channel.settings);
  if (mail.files.length === 0 || !mayBeAnswered(channel, message)) return message;
  return readEmail({ mail, raw, isAuthentic, ...(await storeFiles(deps, channel, mail.files)) }, channel.settings);
}

function deliveredIn({ headers, body }: InboundRequest): { readonly raw: Buffer; readonly verdict: RelayVerdict } {
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'message/rfc822') return { raw: body, verdict: { spf: [], dkim: [] } };
  if (type !== 'application/json') throw fail('unsupported_media_type', { detail: 'The body must be message/rfc822 or application/json.' });
  const told = parseHookBody(body, type);
  const raw = member(told, 'raw');
  if (typeof raw !== 'string') throw invalid('/raw', 'required', 'is required and must be text');
  // A mail has headers, and Base64 no colon.
  return { raw: Buffer.from(raw, raw.includes(':') ? 'utf8' : 'base64'), verdict: verdictOf(told) };
}

/** A mail on which its HTML or its quotations cost too much is read without these. */
async function readMail(deps: MailDeps, { organizationId }: FoundChannel, raw: Buffer): Promise<ReadMail> {
  const read = (isPlain: boolean) =>
    deps.work.run('mail', {
      organizationId,
      job: { kind: 'read', raw, isPlain },
      subject: () => Buffer.concat([Buffer.of(Number(isPlain)), raw]),
    });
  try {
    const result = await read(false).catch((error: unknown) => (error instanceof WorkLimit ? read(true) : Promise.reject(error)));
    if (result.kind !== 'read') throw new Error('a mail was not read');
    return result.mail;
  } catch (error) {
    if (error instanceof WorkLimit) throw invalid('/raw', 'too_large', `The mail ${error.message}.`);
    if (error instanceof WorkProblem) throw invalid('/raw', 'malformed', `The mail can't be read: ${error.message}`);
    throw error;
  }
}

interface Delivered {
  readonly mail: ReadMail & { readonly from: MailAddress };
  readonly raw: Buffer;
  readonly verdict: RelayVerdict;
}

/** Whether the author is proven: by the relay, else by a signature of the author's domain. */
async function isProven(deps: MailDeps, { organizationId, nowMs }: FoundChannel, { mail, raw, verdict }: Delivered): Promise<boolean> {
  if (isVouchedFor(mail, verdict)) return true;
  const signatures = provingSignatures(mail);
  if (signatures.length === 0) return false;
  const { records, isPartial } = await findDkimKeys(
    signatures.map(({ keyName }) => keyName),
    deps.env.mailDnsServers,
  );
  const hasKey = Object.values(records).some((found) => found !== null);
  const result = hasKey ? await deps.work.run('mail', { organizationId, job: { kind: 'verify', raw, keys: records, nowMs } }) : null;
  const domains = result?.kind === 'verify' ? result.domains : [];
  if (signatures.some(({ domain }) => domains.includes(domain))) return true;
  // The relay retries, as with a mail server that defers the mail.
  if (isPartial)
    throw fail('service_unavailable', {
      reason: 'dkim_key_unknown',
      detail: 'A DKIM key of the mail could not be looked up.',
      retryAfterS: 60,
    });
  return false;
}

/** Whether the message may be answered; files of other messages are not stored. */
function mayBeAnswered({ allowedSenders }: FoundChannel, { refusal, sender }: InboundMessage): boolean {
  return refusal === undefined && !sender.isSelf && (sender.isBot || allowedSenders.length === 0 || isAllowed(allowedSenders, sender.id));
}

async function storeFiles({ storage, env }: MailDeps, { organizationId }: FoundChannel, files: readonly MailFile[]) {
  const stored: BroughtFile[] = [];
  const leftOut: string[] = [];
  for (const { name, mediaType, bytes } of files) {
    const file = fileOf({ name, mediaType, bytes: bytes.byteLength, source: 'mail' });
    try {
      const limits = { maxBytes: env.attachments.maxBytes };
      stored.push({
        ...file,
        stored: await storeFile(storage, newStorageKey(organizationId), { filename: file.name, bytes: [bytes] }, limits),
      });
    } catch (error) {
      if (!(error instanceof Failure) || (error.code !== 'payload_too_large' && error.code !== 'unsupported_media_type')) throw error;
      leftOut.push(file.name);
    }
  }
  return { files: stored, leftOut };
}
