import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Views } from '../app/api.ts';
import { Check } from '../ui/check.tsx';
import { Choice } from '../ui/choice.tsx';
import { EditForm } from '../ui/edit-form.tsx';
import { versionOf, type Version } from '../ui/edit-state.ts';
import { Area, Field } from '../ui/fields.tsx';
import { JsonField } from '../ui/json-field.tsx';
import { toolTexts as o } from './messages.ts';

type Tool = Views['ToolView'];
const names = [
  'display_name',
  'description',
  'input_schema',
  'config',
  'secrets_required',
  'effect',
  'concurrency',
  'critical',
  'response_max_chars',
  'timeout_s',
  'is_active',
] as const;
type Settings = Pick<Tool, (typeof names)[number]>;

const effects = ['read', 'write'] as const;
const concurrencies = ['read', 'write', 'exclusive'] as const;
const optionsOf = <T extends string>(ids: readonly T[]) => ids.map((id) => ({ id, label: id }));

function settingsOf({ value, etag }: Version<Tool>): Version<Settings> {
  const picked = Object.fromEntries(names.map((name) => [name, value[name]]));
  return { value: picked as Settings, etag }; // these names alone
}

/** How a tool is described, called and bounded. */
export function ToolSettings({ tool }: { readonly tool: Version<Tool> }) {
  const queries = useQueryClient();
  const [problems, setProblems] = useState<Readonly<Record<string, string | null>>>({});
  const { id } = tool.value;
  const problemAt = (name: string) => (problem: string | null) => setProblems((all) => ({ ...all, [name]: problem }));
  return (
    <EditForm<Settings>
      draft={`tool:${id}`}
      current={settingsOf(tool)}
      read={async () => settingsOf(versionOf(await api.getTool({ tool_id: id })))}
      write={async (changes, options) => {
        await api.updateTool({ tool_id: id, ...changes } as Parameters<typeof api.updateTool>[0], options); // the server checks it by the kind
        await queries.refetchQueries({ queryKey: ['tool', id] });
      }}
      labels={o.fields}
      disabledBecause={Object.values(problems).find((one) => one !== null) ?? null}
    >
      {({ value, set, error }) => (
        <>
          <Field
            label={o.fields.display_name}
            value={value.display_name ?? ''}
            onChange={(text) => set('display_name', text || null)}
            error={error('display_name')}
          />
          <Area
            label={o.fields.description}
            value={value.description}
            onChange={(text) => set('description', text)}
            error={error('description')}
          />
          {(['input_schema', 'config'] as const).map((name) => (
            <JsonField
              key={name}
              label={o.fields[name]}
              value={value[name]}
              rows={8}
              onChange={(next) => set(name, (next ?? {}) as Settings['config'])} // the server says if it does not fit
              onProblem={problemAt(name)}
              error={error(name)}
            />
          ))}
          <Area
            label={o.fields.secrets_required}
            value={value.secrets_required.join('\n')}
            onChange={(text) => set('secrets_required', text === '' ? [] : text.split('\n'))}
            error={error('secrets_required')}
          />
          <Choice label={o.fields.effect} value={value.effect} options={optionsOf(effects)} onChange={(effect) => set('effect', effect)} />
          <Choice
            label={o.fields.concurrency}
            value={value.concurrency}
            options={optionsOf(concurrencies)}
            onChange={(concurrency) => set('concurrency', concurrency)}
          />
          {(['response_max_chars', 'timeout_s'] as const).map((name) => (
            <Field
              key={name}
              label={o.fields[name]}
              inputMode="numeric"
              value={String(value[name])}
              onChange={(text) => set(name, Number(text.replace(/\D/g, '')))}
              error={error(name)}
            />
          ))}
          <Check label={o.fields.critical} isChecked={value.critical} onChange={(next) => set('critical', next)} />
          <Check label={o.fields.is_active} isChecked={value.is_active} onChange={(next) => set('is_active', next)} />
        </>
      )}
    </EditForm>
  );
}
