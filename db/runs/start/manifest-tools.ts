import { sql } from 'kysely';
import type { ToolKind } from '../../../workflows/contracts/runs/runs.ts';
import { askInputSchema } from '../../agents/effective/ask-schema.ts';
import { askDefaults } from '../../agents/effective/effective-delegates.ts';
import { schemaWithoutPreset } from '../../agents/effective/effective-tools.ts';
import { anyId } from '../../expressions.ts';
import { knowledgeSearchTool, knowledgeWriteDefaults, skillLoadTool } from '../../agents/effective/own-tools.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { rows } from '../../sql.ts';
import type { ToolDescriptor } from '../../tools/tool-descriptor.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { Manifest, PinnedTool } from './manifest.ts';

/** A pinned tool with the descriptor of its version: what the model sees and how it is executed. */
export interface RunTool {
  readonly pin: PinnedTool;
  /** Null: one of the platform's own tools, without a row. */
  readonly toolId: string | null;
  readonly slug: string;
  readonly kind: ToolKind;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
  readonly config: Record<string, unknown>;
  readonly effect: 'read' | 'write';
  readonly concurrency: 'read' | 'write' | 'exclusive';
  readonly timeoutS: number;
  readonly responseMaxChars: number;
  /** A write may be sent again: the server recognizes a repeated call, or the tool was approved as safe to repeat. */
  readonly isIdempotent: boolean;
  /** Names of secrets that the tool needs. */
  readonly secretsRequired: readonly string[];
  readonly critical: boolean;
  readonly clientOwned: boolean;
}

/** Descriptors of older versions lack fields that were added later. */
type LaterField = 'secrets_required' | 'critical' | 'client_owned' | 'is_idempotent';
type StoredDescriptor = Omit<ToolDescriptor, LaterField> & Partial<Pick<ToolDescriptor, LaterField>>;

const pinnedVersions = prepared(
  ({ toolIds, versions }: ParametersOf<{ readonly toolIds: readonly (string | null)[]; readonly versions: readonly number[] }>) => {
    const pin = sql<{ toolId: string; version: number }>`unnest(${toolIds}::uuid[], ${versions}::int[])`.as<'pin'>(
      sql`pin (tool_id, version)`,
    );
    return query
      .selectFrom('tool_versions as v')
      .innerJoin(pin, (join) => join.onRef('pin.toolId', '=', 'v.toolId').onRef('pin.version', '=', 'v.version'))
      .select(['v.toolId', 'v.version', 'v.descriptor']);
  },
);

/** Returns the tools of a run as pinned, in the order of the revision. */
export async function readRunTools(tx: TenantTransaction, manifest: Manifest): Promise<RunTool[]> {
  if (manifest.tools.length === 0) return [];
  const stored = manifest.tools.filter((tool) => tool.tool_id !== null);
  const pins = { toolIds: stored.map((tool) => tool.tool_id), versions: stored.map((tool) => tool.version) };
  const found = await rows(tx.em, pinnedVersions(pins));
  const schemas = await readAskedSchemas(tx, manifest);
  return manifest.tools.flatMap((pin) => {
    if (pin.tool_id === null)
      return [toRunTool(pin, pin.delegate ? askDescriptor(pin, schemas.get(pin.delegate.revision_id) ?? null) : ownDescriptor(pin))];
    const version = found.find((row) => row.toolId === pin.tool_id);
    return version ? [toRunTool(pin, version.descriptor)] : [];
  });
}

const askedSchemas = prepared(({ revisionIds }: ParametersOf<{ readonly revisionIds: readonly string[] }>) =>
  query
    .selectFrom('agent_revisions as v')
    .where('v.id', '=', anyId(revisionIds))
    .select('v.id')
    .select(sql<Record<string, unknown> | null>`nullif(v.document -> 'input_schema', 'null')`.as('inputSchema')),
);

/** Returns the input schemas, by revision, of agents that are called by tools without a row; sends no statement where there are none. */
async function readAskedSchemas(tx: TenantTransaction, { tools }: Manifest): Promise<Map<string, Record<string, unknown> | null>> {
  const revisions = tools.flatMap((pin) => (pin.tool_id === null && pin.delegate ? [pin.delegate.revision_id] : []));
  if (revisions.length === 0) return new Map();
  const found = await rows(tx.em, askedSchemas({ revisionIds: revisions }));
  return new Map(found.map((revision) => [revision.id, revision.inputSchema]));
}

function askDescriptor(pin: PinnedTool, inputSchema: Record<string, unknown> | null): StoredDescriptor {
  return {
    slug: pin.slug,
    kind: askDefaults.kind,
    description: pin.description ?? '',
    input_schema: { ...askInputSchema(inputSchema) },
    config: {},
    effect: askDefaults.effect,
    concurrency: askDefaults.concurrency,
    timeout_s: askDefaults.timeout_s,
    response_max_chars: askDefaults.response_max_chars,
  };
}

/** The descriptor of a tool without a row that is not a delegate. */
function ownDescriptor({ slug }: PinnedTool): StoredDescriptor {
  const tool = [knowledgeSearchTool, knowledgeWriteDefaults].find(({ name }) => name === slug) ?? skillLoadTool;
  return {
    slug: tool.name,
    kind: tool.kind,
    description: tool.description,
    input_schema: { ...tool.input_schema },
    config: { name: tool.name, options: {} },
    effect: tool.effect,
    concurrency: tool.concurrency,
    timeout_s: tool.timeout_s,
    response_max_chars: tool.response_max_chars,
    is_idempotent: tool === knowledgeWriteDefaults,
  };
}

function toRunTool(pin: PinnedTool, descriptor: StoredDescriptor): RunTool {
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
    isIdempotent:
      descriptor.is_idempotent ??
      (typeof descriptor.config['idempotency_header'] === 'string' && descriptor.config['idempotency_header'] !== ''),
    secretsRequired: descriptor.secrets_required ?? [],
    critical: descriptor.critical ?? false,
    clientOwned: descriptor.client_owned ?? false,
  };
}

/** Whether the tool is the builtin that asks people a question: their answer is its result. */
export function isQuestion(tool: Pick<RunTool, 'kind' | 'config'>): boolean {
  return tool.kind === 'builtin' && tool.config['name'] === 'ask_user';
}

/** Returns the schema that the model sees, without the fields that the author has preset. */
export function withoutPreset(tool: RunTool): Record<string, unknown> {
  return { ...schemaWithoutPreset(tool.inputSchema, Object.keys(tool.pin.preset)) };
}
