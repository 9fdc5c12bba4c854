import { defineEntity, p } from '@mikro-orm/core';
import { bigintColumn, createdAtColumn, idColumn, updatedAtColumn, uuidColumn } from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const reviewCommandStates = ['queued', 'accepted', 'done', 'refused', 'cancelled'] as const;

const schema = defineEntity({
  name: 'ReviewCommand',
  tableName: 'review_commands',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('review_commands', 'tenant'),
  indexes: [
    ...tenantIndexes('review_commands'),
    uniqueIndex('review_commands', 'text', '(pull_request_id, comment_id, text_sha256)'),
    index('review_commands', 'open', "(pull_request_id, id) where state in ('queued', 'accepted')"),
    index('review_commands', 'run', '(run_id) where run_id is not null'),
  ],
  uniques: [{ name: 'review_commands_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    pullRequestId: uuidColumn(),
    commentId: bigintColumn(),
    commentKind: p.enum(['issue', 'review'] as const),
    command: p.text(),
    /** The text after the command's name; null: none, or the command is over. */
    argument: p.text().strictNullable(),
    /** Of the command's line only: editing the rest of a comment is no new command. */
    textSha256: p.text().fieldName('text_sha256'),
    /** The sender's login on the host. */
    sender: p.text(),
    /** The comment of a thread that it answers. */
    inReplyTo: bigintColumn().strictNullable(),
    state: p.enum(reviewCommandStates).default('queued'),
    reason: p.text().strictNullable(),
    /** The reply to it, besides its run; null: none. */
    reply: p.text().strictNullable(),
    runId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** A command that a person gave in a comment. */
export class ReviewCommand extends schema.class {}
schema.setClass(ReviewCommand);
