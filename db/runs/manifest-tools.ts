import type { ToolKind } from '../../workflows/contracts/runs.ts';
import { rows } from '../sql.ts';
import type { Unit } from '../unit.ts';
import type { Manifest, PinnedTool } from './manifest.ts';

/** A pinned tool with the descriptor of its version: what the model sees and how it is executed. */
export interface RunTool {
  readonly pin: PinnedTool;
  readonly toolId: string;
  readonly slug: string;
  readonly kind: ToolKind;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  readonly config: Record<string, unknown>;
  readonly effect: 'read' | 'write';
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly timeoutS: number;
  readonly responseMaxChars: number;
  /** The server recognizes a repeated call by a header, so a write may be sent again. */
  readonly isIdempotent: boolean;
}

interface DescriptorRow {
  readonly tool_id: string;
  readonly version: number;
  readonly descriptor: {
    readonly slug: string;
    readonly kind: ToolKind;
    readonly description: string;
    readonly input_schema: Record<string, unknown>;
    readonly config: Record<string, unknown>;
    readonly effect: 'read' | 'write';
    readonly concurrency: 'read' | 'write' | 'exclusive';
    readonly timeout_s: number;
    readonly response_max_chars: number;
  };
}

/** The tools of a run as pinned, in the order of the revision. */
export async function readRunTools(unit: Unit, manifest: Manifest): Promise<RunTool[]> {
  if (manifest.tools.length === 0) return [];
  const found = await rows<DescriptorRow>(
    unit.em,
    `select v.tool_id, v.version, v.descriptor from tool_versions v
       join unnest(?::uuid[], ?::int[]) as pin(tool_id, version) on pin.tool_id = v.tool_id and pin.version = v.version`,
    [manifest.tools.map((tool) => tool.tool_id), manifest.tools.map((tool) => tool.version)],
  );
  return manifest.tools.flatMap((pin) => {
    const version = found.find((row) => row.tool_id === pin.tool_id);
    return version ? [toRunTool(pin, version)] : [];
  });
}

function toRunTool(pin: PinnedTool, { descriptor }: DescriptorRow): RunTool {
  return {
    pin,
    toolId: pin.tool_id,
    slug: descriptor.slug,
    kind: descriptor.kind,
    description: pin.description ?? descriptor.description,
    inputSchema: descriptor.input_schema,
    config: descriptor.config,
    effect: descriptor.effect,
    concurrency: descriptor.concurrency,
    timeoutS: Math.min(descriptor.timeout_s, pin.timeout_s ?? descriptor.timeout_s),
    responseMaxChars: descriptor.response_max_chars,
    isIdempotent: typeof descriptor.config['idempotency_header'] === 'string' && descriptor.config['idempotency_header'] !== '',
  };
}

/** The schema that the model sees: what the author has preset is not the model's to fill. */
export function withoutPreset(tool: RunTool): Record<string, unknown> {
  const preset = Object.keys(tool.pin.preset);
  const { properties, required } = tool.inputSchema;
  if (preset.length === 0 || properties === null || typeof properties !== 'object') return tool.inputSchema;
  const left = Object.fromEntries(Object.entries(properties).filter(([name]) => !preset.includes(name)));
  const needed = Array.isArray(required) ? { required: required.filter((name) => !preset.includes(String(name))) } : {};
  return { ...tool.inputSchema, properties: left, ...needed };
}
