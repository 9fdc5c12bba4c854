import { readFile } from 'node:fs/promises';
import PostalMime, { type Address, type Attachment, type Email } from 'postal-mime';
import { nameOf, titleOf } from '../text/clean.ts';
import { htmlToMarkdown } from './html-markdown.ts';
import { KeyMaker } from '../text/keys.ts';
import { suspectHidden } from '../text/injection.ts';
import { ParseFailure, type FileParser, type ParsedPart } from '../parsed.ts';
import { cutSections } from '../text/sections.ts';

/** Maximum depth of messages inside messages. */
const maxDepth = 5;

/** Every message has one of these (RFC 5322 §3.6); a text that is not a message may look as if it had other headers. */
const knownHeaders: readonly string[] = ['from', 'to', 'subject', 'date', 'message-id', 'received', 'return-path', 'content-type'];

interface Mail {
  readonly email: Email;
  readonly depth: number;
}

/**
 * A message (RFC 5322, MIME): sender, recipients, date and text; a message that is forwarded as an attachment becomes a separate item. Other attachments are
 * only named.
 */
export const parseEml: FileParser = async function* (input) {
  const bytes = await readFile(input.path);
  const keys = new KeyMaker();
  const open: Mail[] = [{ email: await mailOf(bytes), depth: 0 }];
  for (let next = open.shift(); next; next = open.shift()) {
    const { email, depth } = next;
    const suspect = suspectHidden(htmlToMarkdown(email.html ?? '', { isPage: false }), input.warn);
    for (const part of partsOf(email, keys, nameOf(input.filename))) yield { ...part, suspect };
    for (const { mimeType, content } of email.attachments) {
      if (mimeType !== 'message/rfc822' || typeof content === 'string') continue;
      if (depth < maxDepth) open.push({ email: await mailOf(content), depth: depth + 1 });
      else input.warn('left_out', 'A message nested inside five others was omitted.');
    }
  }
};

async function mailOf(bytes: Uint8Array | ArrayBuffer): Promise<Email> {
  const email = await PostalMime.parse(bytes, { maxNestingDepth: 50, forceRfc822Attachments: true }).catch((error: unknown) => {
    throw new ParseFailure(
      'malformed',
      `The message can't be read: ${(error instanceof Error ? error.message : String(error)).slice(0, 200)}`,
    );
  });
  if (!email.headers.some(({ key }) => knownHeaders.includes(key))) throw new ParseFailure('malformed', 'The file has no message headers.');
  return email;
}

function* partsOf(email: Email, keys: KeyMaker, filename: string | null): Generator<ParsedPart> {
  const head = [
    ['From', listOf(email.from && [email.from])],
    ['To', listOf(email.to)],
    ['Cc', listOf(email.cc)],
    ['Date', email.date ?? ''],
    ['Subject', email.subject ?? ''],
    ['Attachments', email.attachments.map(nameOfAttachment).filter(Boolean).join(', ')],
  ].filter(([, value]) => value !== '');
  const body = email.text?.trim() || htmlToMarkdown(email.html ?? '', { isPage: false }).markdown;
  const text = `${head.map(([name, value]) => `${name}: ${value}`).join('\n')}\n\n${body.replaceAll(/\r\n?/g, '\n')}`;
  const metadata = {
    ...(email.messageId ? { message_id: email.messageId.slice(0, 300) } : {}),
    ...(email.from?.address ? { from: email.from.address.slice(0, 300) } : {}),
    ...(email.date ? { date: email.date.slice(0, 60) } : {}),
  };
  yield* cutSections(text, { title: titleOf(email.subject) ?? filename, metadata, keys, hasHeadings: false });
}

function listOf(addresses: readonly Address[] | undefined): string {
  return (addresses ?? [])
    .slice(0, 50)
    .map(({ name, address }) => [name, address && `<${address}>`].filter(Boolean).join(' '))
    .join(', ');
}

function nameOfAttachment({ filename, mimeType }: Attachment): string {
  return (filename ?? mimeType).slice(0, 120);
}
