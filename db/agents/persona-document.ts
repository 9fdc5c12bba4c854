import type { avatarPresets } from './agent.entity.ts';
import type { KnowledgeBinding, ModelSettings } from './revision-document.ts';

export const instructionsModes = ['append', 'prepend', 'replace'] as const;
export type InstructionsMode = (typeof instructionsModes)[number];

/** A persona as it is stored: complete, with defaults, references resolved. Wire names, because it is shown as it stands. */
export interface PersonaDocument {
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly greeting: string | null;
  /** BCP 47. */
  readonly locale: string | null;
  readonly instructions: string;
  readonly instructions_mode: InstructionsMode;
  /** Replaces the revision's; null keeps it. */
  readonly model: string | null;
  /** Fields that are set replace the revision's; null keeps all. */
  readonly model_settings: Partial<ModelSettings> | null;
  /** Slugs of the tools it may call; null: all of the revision. Narrows only. */
  readonly tools_allow: readonly string[] | null;
  /** Beside the revision's. */
  readonly knowledge: readonly KnowledgeBinding[];
  readonly avatar_preset: (typeof avatarPresets)[number] | null;
  readonly image_url: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly is_default: boolean;
  readonly is_active: boolean;
}
