import type Type from 'typebox';
import type { Agent } from '../../db/agents/agent.entity.ts';
import type { AuditNote } from '../http/operation/operation.ts';
import type { AgentUpdate } from './agent.schema.ts';

type Changes = Record<string, { from: unknown; to: unknown }>;

/** Writes what the body holds into the agent and gives what has changed, for the audit entry. */
export function applyUpdate(agent: Agent, body: Type.Static<typeof AgentUpdate>): AuditNote['changes'] {
  const before = fieldsOf(agent);
  if (body.slug !== undefined) agent.slug = body.slug;
  if (body.name !== undefined) agent.name = body.name;
  if (body.description !== undefined) agent.description = body.description;
  if (body.avatar_preset !== undefined) agent.avatarPreset = body.avatar_preset;
  if (body.image_url !== undefined) agent.imageUrl = body.image_url;
  if (body.is_active !== undefined) agent.isActive = body.is_active;
  if (body.attributes !== undefined) agent.attributes = body.attributes;

  const changes: Changes = {};
  for (const [field, to] of Object.entries(fieldsOf(agent))) {
    const from = before[field];
    if (JSON.stringify(from) !== JSON.stringify(to)) changes[field] = { from, to };
  }
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
