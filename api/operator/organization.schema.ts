import Type, { type Static } from 'typebox';
import { purgeStatuses } from '../../db/operator/purge.entity.ts';
import type { PurgeRow } from '../../db/operator/purges.ts';
import { iso } from '../../db/sql.ts';
import { closed, Email, idOf, integer, Name, nullable, oneOf, Slug, text, Timestamp } from '../http/input/schema.ts';
import { Timezone } from '../http/views/zones.ts';

export const OrganizationParams = closed({ organization_id: idOf('Organization') });

export const OrganizationCreate = closed(
  {
    name: Name,
    slug: Slug,
    timezone: Type.Optional(Timezone),
    owner: closed({
      email: Email,
      full_name: Type.Optional(nullable(text(200, { minLength: 1 }))),
      password: Type.Optional(
        text(256, {
          minLength: 8,
          description: 'If given, the owner is created at once, otherwise invited by mail; required if the deployment has no mailer',
        }),
      ),
    }),
    workspace: Type.Optional(closed({ name: Type.Optional(Name), slug: Type.Optional(Slug) })),
  },
  { $id: 'OrganizationCreate' },
);

const confirmed = {
  reason: text(500, { minLength: 1 }),
  confirm: text(120, { minLength: 1, description: 'The slug of the organization' }),
};
export const OrganizationSuspend = closed(confirmed, { $id: 'OrganizationSuspend' });
export const OrganizationPurge = closed(confirmed, { $id: 'OrganizationPurge' });

export const PurgeView = closed(
  {
    id: idOf('Purge'),
    organization_id: idOf('Organization'),
    status: oneOf(purgeStatuses),
    step: nullable(text(60, { description: 'Current table or step, or the one that failed' })),
    counts: Type.Record(Type.String({ maxLength: 60 }), integer(), { description: 'Rows deleted so far, by table' }),
    started_at: nullable(Timestamp),
    finished_at: nullable(Timestamp),
    created_at: Timestamp,
  },
  { $id: 'PurgeView', description: 'The removal of all data of an organization' },
);

export function toPurgeView(row: PurgeRow): Static<typeof PurgeView> {
  return {
    id: row.id,
    organization_id: row.organizationId,
    status: row.status,
    step: row.step,
    counts: { ...row.counts },
    started_at: iso(row.startedAt),
    finished_at: iso(row.finishedAt),
    created_at: iso(row.createdAt),
  };
}
