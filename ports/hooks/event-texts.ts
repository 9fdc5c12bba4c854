import { wellFormed } from './texts.ts';
import { renderTexts, type TriggerTexts } from '../schedule/texts.ts';
import type { Templates } from '../templates/templates.ts';

/** An event trigger with its templates. */
export interface TemplatesOfTrigger {
  readonly id: string;
  readonly promptTemplate: string;
  readonly inputTemplate: Record<string, unknown> | null;
  readonly sessionKeyTemplate: string | null;
  readonly personaSlugTemplate: string | null;
  readonly subjectTemplate: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

/** What the templates of a trigger see. */
export interface SeenEvent {
  readonly event: Readonly<Record<string, unknown>>;
  readonly now: Date;
  /** Each event of a group whose data all count; otherwise absent. */
  readonly items?: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Fills the templates of a trigger for an event. A path without a value is empty.
 * @throws TemplateError
 */
export async function fillTrigger(templates: Templates, trigger: TemplatesOfTrigger, seen: SeenEvent): Promise<TriggerTexts> {
  const texts = {
    prompt: trigger.promptTemplate,
    input: trigger.inputTemplate,
    sessionKey: trigger.sessionKeyTemplate,
    personaSlug: trigger.personaSlugTemplate,
    subject: trigger.subjectTemplate,
  };
  const filled = await renderTexts(templates, texts, { prefix: `event:${trigger.id}`, variables: variablesOf(seen) });
  return { ...filled, prompt: wellFormed(filled.prompt) };
}

/**
 * Returns the key by which an event is coalesced with others: the text of a template, trimmed; empty without one.
 * @throws TemplateError
 */
export async function fillEventKey(templates: Templates, template: string | null, seen: SeenEvent): Promise<string> {
  if (template === null || !template.includes('{')) return template?.trim() ?? '';
  return wellFormed((await templates.render(template, variablesOf(seen))).text).trim();
}

function variablesOf({ event, now, items }: SeenEvent) {
  return { event, now: now.toISOString(), ...(items === undefined ? {} : { items }) };
}
