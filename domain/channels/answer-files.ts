import type { AttachmentPart } from '../../db/streams/frame-parts.schema.ts';
import type { ChannelService } from '../../ports/channels/service.ts';

/** The number of the first part that is a file. */
export const firstFilePart = 10_000;

/** A file of an answer, under a name that is unique within the answer. */
export interface AnswerFileName {
  readonly attachmentId: string;
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
}

export interface SortedFiles {
  readonly sent: readonly AnswerFileName[];
  /** Files whose names are listed with a link instead. */
  readonly tooLarge: readonly AnswerFileName[];
}

const maxFiles = 20;

/** Selects the files of an answer that its service accepts: the same each time, so that a part is always the same file. */
export function sortFiles(attachments: readonly AttachmentPart[] | undefined, { kind, maxBytes }: ChannelService['files']): SortedFiles {
  const sent: AnswerFileName[] = [];
  const tooLarge: AnswerFileName[] = [];
  const names = new Set<string>();
  let total = 0;
  for (const { attachment_id: attachmentId, media_type: mediaType, name: given, bytes } of (attachments ?? []).slice(0, maxFiles)) {
    const name = unlike(given ?? 'file', names);
    const file = { attachmentId, name, mediaType, bytes };
    const fits = kind === 'with_text' ? total + bytes <= maxBytes : bytes <= maxBytes;
    if (fits) total += bytes;
    (fits ? sent : tooLarge).push(file);
  }
  return { sent, tooLarge };
}

/** Returns a unique name: `a.csv`, then `a (2).csv`. */
function unlike(name: string, names: Set<string>): string {
  const dot = name.lastIndexOf('.');
  const [stem, end] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  let other = name;
  for (let n = 2; names.has(other); n += 1) other = `${stem} (${n})${end}`;
  names.add(other);
  return other;
}

/** The files of a part: its own file, or all files of an answer that are sent with its first text. */
export function filesOfPart(
  { kind, part }: { readonly kind: string; readonly part: number },
  attachments: readonly AttachmentPart[] | undefined,
  rule: ChannelService['files'],
): readonly AnswerFileName[] {
  if (kind !== 'reply') return [];
  const { sent } = sortFiles(attachments, rule);
  if (part >= firstFilePart) return sent.slice(part - firstFilePart, part - firstFilePart + 1);
  return rule.kind === 'with_text' && part === 0 ? sent : [];
}
