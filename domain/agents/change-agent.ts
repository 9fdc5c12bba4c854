import type { Agent } from '../../db/agents/agent.entity.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import type { AgentFields } from './create-agent.ts';

type Changes = Record<string, { from: unknown; to: unknown }>;

/** Changes the fields that are sent of a locked agent; the others stay. Returns what has changed, for the audit entry. */
export async function changeAgent(tx: TenantTransaction, agent: Agent, asked: Partial<AgentFields>): Promise<Changes> {
  const before = fieldsOf(agent);
  if (asked.slug !== undefined) agent.slug = asked.slug;
  if (asked.name !== undefined) agent.name = asked.name;
  if (asked.description !== undefined) agent.description = asked.description;
  if (asked.avatar_preset !== undefined) agent.avatarPreset = asked.avatar_preset;
  if (asked.image_url !== undefined) agent.imageUrl = asked.image_url;
  if (asked.is_active !== undefined) agent.isActive = asked.is_active;
  if (asked.attributes !== undefined) agent.attributes = asked.attributes;

  const changes: Changes = {};
  for (const [field, to] of Object.entries(fieldsOf(agent))) {
    const from = before[field];
    if (JSON.stringify(from) !== JSON.stringify(to)) changes[field] = { from, to };
  }
  await tx.em.flush();
  return changes;
}

function fieldsOf(agent: Agent): Record<string, unknown> {
  return {
    slug: agent.slug,
    name: agent.name,
    description: agent.description,
    avatar_preset: agent.avatarPreset,
    image_url: agent.imageUrl,
    is_active: agent.isActive,
    attributes: agent.attributes,
  };
}
