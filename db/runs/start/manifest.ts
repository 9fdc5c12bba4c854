import type { CallApproval } from '../../../workflows/contracts/runs/approvals.ts';
import type { EffectiveConfiguration } from '../../agents/effective/effective.ts';
import type { KnowledgeBinding } from '../../agents/revisions/revision-document.ts';
import type { PinnedDelegate } from '../../agents/effective/delegate-target.ts';
import type { PinnedSkill } from '../../skills/run-skills.ts';

/** A tool as a run uses it until its end: the pinned version and the binding's own limits. */
export interface PinnedTool {
  /** Null: one of the platform's own tools, without a row. */
  readonly tool_id: string | null;
  readonly version: number;
  /** The toolkit's revision that created the version. Absent in older manifests. */
  readonly toolkit_revision_id?: string | null;
  readonly slug: string;
  readonly max_calls: number | null;
  readonly timeout_s: number | null;
  readonly preset: Readonly<Record<string, unknown>>;
  readonly description: string | null;
  /** Effects for which its calls need an approval. Absent in older manifests, whose revisions had no such rule. */
  readonly asks?: readonly ('read' | 'write')[];
  /** Why its calls need an approval (null: they do not), and which role may decide. Absent in older manifests, whose runs had no such tools. */
  readonly gate?: Extract<CallApproval, 'critical' | 'binding' | 'first' | 'effect'> | null;
  readonly floor?: 'member' | 'admin';
  /** For tools that start another run: the agent that they call. */
  readonly delegate?: PinnedDelegate;
}

/** A base that a run may use; each call checks again which rights that gives. */
export type PinnedKnowledge = Pick<KnowledgeBinding, 'id' | 'slug' | 'access' | 'mode' | 'top_k'>;

/** A run's persona, pinned. */
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
  /** Absent in runs begun before skills and personas existed. */
  readonly skills?: readonly PinnedSkill[];
  readonly persona?: PinnedPersona | null;
  /** Absent in runs begun before knowledge bases existed. */
  readonly knowledge?: readonly PinnedKnowledge[];
  readonly max_tool_calls: number;
  /** Values of the revision's variables: from the input, else the default. */
  readonly vars: Readonly<Record<string, unknown>>;
  /** SHA-256 of the canonical JSON of everything that the run uses. Absent in older manifests. */
  readonly hash?: string;
  readonly begun_at: string;
}

export interface PinnedWarning {
  readonly code: 'state_conflict';
  readonly message: string;
}

/** Returns the versions that a run keeps until its end, and warnings about what it does without. */
export function pinsOf(effective: EffectiveConfiguration): Pick<
  Manifest,
  'tools' | 'skills' | 'knowledge' | 'models' | 'max_tool_calls'
> & {
  readonly warnings: PinnedWarning[];
} {
  return {
    models: effective.models,
    tools: effective.tools.map((tool) => ({
      tool_id: tool.tool_id,
      version: tool.version,
      toolkit_revision_id: tool.toolkit_revision_id,
      slug: tool.name,
      max_calls: tool.max_calls,
      timeout_s: tool.own_timeout_s,
      preset: tool.preset,
      description: tool.own_description,
      asks: tool.asks,
      gate: tool.approval.required ? tool.approval.reason : null,
      floor: tool.approval.floor,
      ...(tool.delegate === null ? {} : { delegate: tool.delegate }),
    })),
    skills: effective.skills.map(({ skill_id, version, slug, description, mode }) => ({ skill_id, version, slug, description, mode })),
    knowledge: effective.knowledge.map(({ id, slug, access, mode, top_k }) => ({ id, slug, access, mode, top_k })),
    max_tool_calls: effective.limits.max_tool_calls,
    warnings: effective.warnings.map(({ message }) => ({ code: 'state_conflict', message: message.slice(0, 1_000) })),
  };
}
