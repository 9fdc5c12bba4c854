import { Agent, type avatarPresets } from '../../db/agents/agent.entity.ts';
import type { RowScope } from '../../db/new-row-scope.ts';
import { newId } from '../../db/ids.ts';
import type { Ctx } from '../http/operation/operation.ts';

/** What is said of an agent to be made, under the names of the wire. */
interface AgentFields {
  readonly slug: string;
  readonly name: string;
  readonly description?: string | null;
  readonly avatar_preset?: (typeof avatarPresets)[number] | null;
  readonly image_url?: string | null;
  readonly is_active?: boolean;
  readonly attributes?: Record<string, unknown>;
}

/** An agent that is not stored yet: it is persisted once everything about it has been checked. */
export function newAgent(ctx: Ctx, home: RowScope, fields: AgentFields): Agent {
  return ctx.em.create(
    Agent,
    {
      id: newId(),
      ...home,
      slug: fields.slug,
      name: fields.name,
      description: fields.description ?? null,
      avatarPreset: fields.avatar_preset ?? null,
      imageUrl: fields.image_url ?? null,
      isActive: fields.is_active ?? true,
      attributes: fields.attributes ?? {},
      activeRevisionId: null,
      createdByUserId: ctx.caller.userId,
      deletedAt: null,
    },
    { persist: false },
  );
}
