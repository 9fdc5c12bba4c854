import type { Static } from 'typebox';
import type { Tool } from '../../db/tools/tool.entity.ts';
import type { NewToolSettings, ToolSettings } from '../../domain/tools/tool-fields.ts';
import type { ToolCreate, ToolUpdate } from './tool.schema.ts';

/** The settings of a tool in a body; omitted ones are undefined. */
export function toToolSettings(body: Static<typeof ToolUpdate>): ToolSettings {
  return {
    displayName: body.display_name,
    description: body.description,
    inputSchema: body.input_schema,
    config: body.config,
    secretsRequired: body.secrets_required,
    effect: body.effect,
    concurrency: body.concurrency,
    critical: body.critical,
    clientOwned: body.client_owned,
    responseMaxChars: body.response_max_chars,
    timeoutS: body.timeout_s,
    isActive: body.is_active,
  };
}

/** The settings of a new tool in a body, except its row scope. */
export function toNewToolSettings(body: Static<typeof ToolCreate>): NewToolSettings {
  return { ...toToolSettings(body), slug: body.slug, kind: body.kind, description: body.description };
}

/** The fields of a tool in audit entries; a config names secrets and contains none. */
export function auditedFields(tool: Tool) {
  return {
    display_name: tool.displayName,
    description: tool.description,
    input_schema: tool.inputSchema,
    config: tool.config,
    required_names: tool.secretsRequired,
    effect: tool.effect,
    concurrency: tool.concurrency,
    critical: tool.critical,
    client_owned: tool.clientOwned,
    response_max_chars: tool.responseMaxChars,
    timeout_s: tool.timeoutS,
    is_active: tool.isActive,
  };
}
