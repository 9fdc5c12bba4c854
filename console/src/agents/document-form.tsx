import { useState } from 'react';
import type { EditFields } from '../ui/edit-form.tsx';
import { Choice } from '../ui/choice.tsx';
import { Area, Field } from '../ui/fields.tsx';
import { JsonField } from '../ui/json-field.tsx';
import { BindingFields } from './binding-fields.tsx';
import type { RevisionDocument } from './draft.tsx';
import { agentTexts as a } from './messages.ts';

interface DocumentFormProps {
  readonly agentId: string;
  readonly fields: EditFields<RevisionDocument>;
  readonly onProblem: (problem: string | null) => void;
}

const jsonNames = ['variables', 'model_settings', 'response_format', 'context', 'input_schema', 'metadata'] as const;
const decisions = ['auto', 'ask'] as const;
const floors = ['member', 'admin'] as const;
const counts = ['max_steps', 'max_tool_calls', 'max_duration_s'] as const;

/** A document field by field: the common ones by themselves, the rest as JSON. */
export function DocumentForm({ agentId, fields, onProblem }: DocumentFormProps) {
  const { value, set, error } = fields;
  const [problems, setProblems] = useState<Readonly<Record<string, string | null>>>({});
  const problemAt = (name: string) => (problem: string | null) => {
    const all = { ...problems, [name]: problem };
    setProblems(all);
    onProblem(Object.values(all).find((one) => one !== null) ?? null);
  };
  return (
    <>
      <Field
        label={a.doc.model}
        hint={a.modelHint}
        value={value.model ?? ''}
        onChange={(text) => set('model', text === '' ? null : text)}
        error={error('model')}
      />
      <Area
        label={a.doc.fallback_models}
        rows={2}
        value={(value.fallback_models ?? []).join('\n')}
        onChange={(text) => set('fallback_models', text === '' ? [] : text.split('\n'))}
        error={error('fallback_models')}
      />
      <Area
        label={a.doc.instructions}
        rows={10}
        value={value.instructions ?? ''}
        onChange={(text) => set('instructions', text)}
        error={error('instructions')}
      />
      <BindingFields agentId={agentId} fields={fields} />
      <Approvals fields={fields} />
      <Limits fields={fields} />
      {jsonNames.map((name) => (
        <JsonField
          key={name}
          label={a.doc[name]}
          value={value[name]}
          onChange={(next) => set(name, next as never)} // the server says if it does not fit
          onProblem={problemAt(name)}
          error={error(name)}
        />
      ))}
    </>
  );
}

function Approvals({ fields: { value, set, error } }: Pick<DocumentFormProps, 'fields'>) {
  const rules = value.approvals ?? {};
  const options = decisions.map((id) => ({ id, label: a[id] }));
  return (
    <fieldset>
      <legend>{a.doc.approvals}</legend>
      <Choice label={a.reading} value={rules.read ?? 'auto'} options={options} onChange={(read) => set('approvals', { ...rules, read })} />
      <Choice
        label={a.writing}
        value={rules.write ?? 'auto'}
        options={options}
        onChange={(write) => set('approvals', { ...rules, write })}
      />
      <Choice
        label={a.floor}
        value={rules.approver_floor ?? 'member'}
        options={floors.map((id) => ({ id, label: a.floors[id] }))}
        onChange={(floor) => set('approvals', { ...rules, approver_floor: floor })}
      />
      {error('approvals') !== null && <p className="error">{error('approvals')}</p>}
    </fieldset>
  );
}

/** An empty field is the default of the contract. */
function Limits({ fields: { value, set, error } }: Pick<DocumentFormProps, 'fields'>) {
  const limits = value.limits ?? {};
  const { max_cost } = limits;
  const change = (name: string, next: string | number | undefined) =>
    set('limits', Object.fromEntries(Object.entries({ ...limits, [name]: next }).filter(([, one]) => one !== undefined)));
  return (
    <fieldset>
      <legend>{a.doc.limits}</legend>
      {counts.map((name) => (
        <Field
          key={name}
          label={a.limits[name]}
          inputMode="numeric"
          value={limits[name]?.toString() ?? ''}
          onChange={(text) => change(name, /^\d+$/.test(text) ? Number(text) : undefined)}
        />
      ))}
      <Field label={a.limits.max_cost} value={max_cost ?? ''} onChange={(text) => change('max_cost', text === '' ? undefined : text)} />
      {error('limits') !== null && <p className="error">{error('limits')}</p>}
    </fieldset>
  );
}
