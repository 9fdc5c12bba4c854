import { type Expression, sql } from 'kysely';
import { fail } from '../../workflows/contracts/failure.ts';
import type { Condition } from '../condition.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import type { Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { visibleAttachments } from '../visible-attachments.ts';

/** An attachment as it is read. */
export type AttachmentRow = NonNullable<Awaited<ReturnType<typeof findAttachment>>>;

/** How long unlinked bytes are retained, in hours. */
export const unlinkedHours = 24;

export const attachmentColumns = [
  'id',
  'organizationId',
  'workspaceId',
  'filename',
  'mediaType',
  'sizeBytes',
  'sha256',
  'purpose',
  'state',
  'createdBy',
  'storageKey',
  'expiresAt',
  'createdAt',
] as const;

/** The links of an attachment that are in effect. */
export function linksOf(attachmentId: Expression<string>) {
  return query
    .selectFrom('attachment_links as l')
    .select(sql.lit(1).as('one'))
    .where('l.attachmentId', '=', attachmentId)
    .where(({ eb, or }) => or([eb('l.until', 'is', null), eb('l.until', '>', sql<string>`now()`)]));
}

/** Returns an attachment that the caller sees. Throws 404. */
export async function seeAttachment(ctx: Scoped, id: string): Promise<AttachmentRow> {
  const found = await findAttachment(ctx, id);
  if (!found) throw fail('not_found');
  return found;
}

const attachmentById = prepared(({ id, visible }: ParametersOf<{ readonly id: string; readonly visible: Condition }>) =>
  query
    .selectFrom('attachments as a')
    .select(attachmentColumns)
    .select(({ exists, ref }) =>
      exists(linksOf(ref('a.id')))
        .$castTo<boolean>()
        .as('linked'),
    )
    .where('a.id', '=', id)
    .where(visible),
);

/** Returns an attachment that the caller sees, or null when there is none. */
export async function findAttachment(ctx: Scoped, id: string) {
  return row(ctx.em, attachmentById({ id, visible: visibleAttachments(ctx) }));
}
