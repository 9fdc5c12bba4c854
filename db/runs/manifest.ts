import { rows } from '../sql.ts';
import type { Unit } from '../unit.ts';
import type { RevisionDocument } from '../agents/revision-document.ts';

/** A tool as a run uses it to its end: the version pinned, the binding's own bounds. */
export interface PinnedTool {
  readonly tool_id: string;
  readonly version: number;
  readonly slug: string;
  readonly max_calls: number | null;
  readonly timeout_s: number | null;
  readonly preset: Readonly<Record<string, unknown>>;
  readonly description: string | null;
}

/** A skill as a run may load it: the version pinned. */
export interface PinnedSkill {
  readonly skill_id: string;
  readonly version: number;
  readonly slug: string;
  readonly description: string;
  readonly mode: 'on_demand' | 'always';
}

/** A persona as a run wears it. */
export interface PinnedPersona {
  readonly id: string;
  readonly version: number;
  readonly slug: string;
  readonly name: string;
}

/** What beginRun pins: later edits of agent, tools or workspace never change a run in flight. */
export interface Manifest {
  readonly agent: { readonly id: string; readonly slug: string; readonly name: string; readonly description: string | null };
  readonly workspace: { readonly id: string; readonly slug: string; readonly name: string; readonly timezone: string };
  readonly revision: { readonly id: string; readonly number: number };
  /** Registry ids: the model, then its fallbacks. */
  readonly models: readonly string[];
  readonly tools: readonly PinnedTool[];
  /** Absent in runs begun before there were skills and personas. */
  readonly skills?: readonly PinnedSkill[];
  readonly persona?: PinnedPersona | null;
  readonly max_tool_calls: number;
  /** Values of the revision's variables: the input's, else the default. */
  readonly vars: Readonly<Record<string, unknown>>;
  readonly begun_at: string;
}

export interface PinnedWarning {
  readonly code: 'state_conflict';
  readonly message: string;
}

interface ToolVersionRow {
  readonly tool_id: string;
  readonly slug: string;
  readonly version: number;
}

/** Resolves the tools that the revision binds to their newest versions; one that is inactive or gone is left out with a warning. */
export async function pinTools(unit: Unit, document: RevisionDocument): Promise<{ tools: PinnedTool[]; warnings: PinnedWarning[] }> {
  if (document.tools.length === 0) return { tools: [], warnings: [] };
  const ids = document.tools.map((binding) => binding.id);
  const found = await rows<ToolVersionRow>(
    unit.em,
    `select t.id as tool_id, t.slug, max(v.version) as version
       from tools t join tool_versions v on v.tool_id = t.id
      where t.id = any(?::uuid[]) and t.is_active and t.deleted_at is null and (t.organization_id is null or t.organization_id = ?)
      group by t.id`,
    [ids, unit.tenant.organizationId],
  );

  const tools: PinnedTool[] = [];
  const warnings: PinnedWarning[] = [];
  for (const binding of document.tools) {
    const version = found.find((row) => row.tool_id === binding.id);
    if (!version) {
      warnings.push({ code: 'state_conflict', message: `the tool ${binding.slug} is not active and is left out` });
      continue;
    }
    tools.push({
      tool_id: binding.id,
      version: version.version,
      slug: version.slug,
      max_calls: binding.max_calls,
      timeout_s: binding.timeout_s,
      preset: binding.preset,
      description: binding.description,
    });
  }
  return { tools, warnings };
}
