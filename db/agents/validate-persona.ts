import type { BindingDraft, KnowledgeBinding } from './revision-document.ts';
import { completePersona, type PersonaDocument, type PersonaDraft } from './persona-document.ts';
import type { RevisionChecks, RevisionProblem } from './validate-revision.ts';

const optionsPointer = '/model_settings/provider_options';

/** Checks a persona, whole: the document as it would be stored, and everything that stands against it. Pointers lie within the persona. */
export async function validatePersona(
  draft: PersonaDraft,
  checks: RevisionChecks,
): Promise<{ document: PersonaDocument; problems: RevisionProblem[] }> {
  const document = completePersona(draft, []);
  const problems = [
    ...modelProblems(document, checks),
    ...(await templateProblems(document, checks)),
    ...localeProblems(document),
    ...knowledgeProblems(draft.knowledge ?? []),
    ...sizeProblems(document),
  ];
  return { document, problems };
}

function modelProblems(document: PersonaDocument, checks: RevisionChecks): RevisionProblem[] {
  if (document.model === null) return [];
  const reasoning = document.model_settings?.reasoning ?? 'provider-default';
  const facts = checks.model(document.model, { hasTools: false, reasoning });
  if (!facts) return [problem('/model', 'reference', 'The deployment has no such model.', { kind: 'model', slug: document.model })];
  const unknown = Object.keys(document.model_settings?.provider_options ?? {}).filter((key) => !facts.optionKeys.includes(key));
  return [
    ...facts.lacks.map((capability) => problem('/model', 'capability', 'The model lacks what the persona needs.', { capability })),
    ...unknown.map((field) => problem(optionsPointer, 'unknown_field', 'The provider of the model takes no such option.', { field })),
  ];
}

async function templateProblems(document: PersonaDocument, checks: RevisionChecks): Promise<RevisionProblem[]> {
  if (!document.instructions.includes('{')) return [];
  try {
    await checks.template(document.instructions);
    return [];
  } catch {
    // The parser's message quotes the template.
    return [problem('/instructions', 'template', 'The template can not be read.')];
  }
}

function localeProblems({ locale }: PersonaDocument): RevisionProblem[] {
  if (locale === null) return [];
  try {
    return Intl.getCanonicalLocales(locale).length === 1 ? [] : [problem('/locale', 'format', 'must be a language tag (BCP 47)')];
  } catch {
    return [problem('/locale', 'format', 'must be a language tag (BCP 47)')];
  }
}

/** There is no knowledge base yet that a reference could mean. */
function knowledgeProblems(knowledge: readonly BindingDraft<KnowledgeBinding>[]): RevisionProblem[] {
  return knowledge.map((binding, at) =>
    problem(`/knowledge/${at}`, 'reference', 'The knowledge base does not exist where the agent can use it.', {
      kind: 'knowledge',
      slug: binding.slug ?? null,
    }),
  );
}

function sizeProblems(document: PersonaDocument): RevisionProblem[] {
  const isOver = (value: unknown, limitBytes: number) => Buffer.byteLength(JSON.stringify(value)) > limitBytes;
  return [
    ...(isOver(document.attributes, 16_384) ? [problem('/attributes', 'maxLength', 'At most 16 KiB.')] : []),
    ...(isOver(document.model_settings?.provider_options ?? {}, 4_096) ? [problem(optionsPointer, 'maxLength', 'At most 4 KiB.')] : []),
  ];
}

function problem(pointer: string, rule: string, message: string, params?: Record<string, unknown>): RevisionProblem {
  return { severity: 'error', stage: 'create', pointer, rule, message, ...(params ? { params } : {}) };
}
