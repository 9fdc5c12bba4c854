import { Area, Field } from '../ui/fields.tsx';
import type { RevisionDocument } from './draft.ts';
import { agentTexts as a } from './messages.ts';

const { draft: d } = a;

interface DraftFormProps {
  readonly document: RevisionDocument;
  readonly onChange: (document: RevisionDocument) => void;
}

/** What most revisions change; the rest of the document stays as it is. */
export function DraftForm({ document, onChange }: DraftFormProps) {
  const { limits } = document;
  const orNull = (text: string) => (text.trim() === '' ? null : text.trim());
  const setLimits = (part: Partial<NonNullable<RevisionDocument['limits']>>) => onChange({ ...document, limits: { ...limits, ...part } });
  return (
    <>
      <Field
        label={d.model}
        hint={d.modelHint}
        value={document.model ?? ''}
        onChange={(text) => onChange({ ...document, model: orNull(text) })}
      />
      <Area
        label={d.instructions}
        hint={d.instructionsHint}
        rows={12}
        value={document.instructions ?? ''}
        onChange={(instructions) => onChange({ ...document, instructions })}
      />
      <Field
        label={d.maxSteps}
        inputMode="numeric"
        value={limits?.max_steps === undefined ? '' : String(limits.max_steps)}
        onChange={(text) => /^\d{1,6}$/.test(text) && setLimits({ max_steps: Number(text) })}
      />
      <Field
        label={d.maxCost}
        hint={d.maxCostHint}
        value={limits?.max_cost ?? ''}
        onChange={(text) => setLimits({ max_cost: orNull(text) })}
      />
      <p className="hint">{d.more}</p>
    </>
  );
}
