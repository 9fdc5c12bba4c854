import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { Check } from '../ui/check.tsx';
import { EditForm } from '../ui/edit-form.tsx';
import { versionOf, type Version } from '../ui/edit-state.ts';
import { Area, Field } from '../ui/fields.tsx';
import { Json } from '../ui/json.tsx';
import { JsonField } from '../ui/json-field.tsx';
import { Facts } from '../ui/page.tsx';
import { agentQuery } from './agent-queries.ts';
import { agentTexts as a } from './messages.ts';

type Agent = Views['AgentView'];
type Settings = Pick<Agent, 'name' | 'slug' | 'description' | 'image_url' | 'is_active' | 'attributes'>;

const labels = {
  name: a.fields.name,
  slug: a.fields.slug,
  description: a.fields.description,
  image_url: a.fields.image,
  is_active: a.fields.active,
  attributes: a.fields.attributes,
};

function settingsOf({ value, etag }: Version<Agent>): Version<Settings> {
  const { name, slug, description, image_url, is_active, attributes } = value;
  return { value: { name, slug, description, image_url, is_active, attributes }, etag };
}

/** What an agent is called and whether it can be run. */
export function AgentSettings({ agent }: { readonly agent: Version<Agent> }) {
  const mayWrite = useMay('member');
  const queries = useQueryClient();
  const [problem, setProblem] = useState<string | null>(null);
  const { id, name, slug, description, attributes } = agent.value;
  if (!mayWrite)
    return (
      <>
        <Facts
          facts={[
            [a.fields.name, name],
            [a.fields.slug, slug],
            [a.fields.description, description],
          ]}
        />
        <Json value={attributes} label={a.fields.attributes} />
      </>
    );
  return (
    <EditForm<Settings>
      draft={`agent:${id}`}
      current={settingsOf(agent)}
      read={async () => settingsOf(versionOf(await api.getAgent({ agent_id: id })))}
      write={async (changes, options) => {
        await api.updateAgent({ agent_id: id, ...changes }, options);
        await queries.refetchQueries(agentQuery(id));
      }}
      labels={labels}
      disabledBecause={problem}
    >
      {({ value, set, error }) => (
        <>
          <Field label={labels.name} value={value.name} onChange={(text) => set('name', text)} error={error('name')} />
          <Field label={labels.slug} value={value.slug} onChange={(text) => set('slug', text)} error={error('slug')} />
          <Area
            label={labels.description}
            value={value.description ?? ''}
            onChange={(text) => set('description', text === '' ? null : text)}
            error={error('description')}
          />
          <Field
            label={labels.image_url}
            value={value.image_url ?? ''}
            onChange={(text) => set('image_url', text === '' ? null : text)}
            error={error('image_url')}
          />
          <Check label={labels.is_active} isChecked={value.is_active} onChange={(isChecked) => set('is_active', isChecked)} />
          <JsonField
            label={labels.attributes}
            value={value.attributes}
            onChange={(next) => set('attributes', (next ?? {}) as Settings['attributes'])} // the server says if it is none
            onProblem={setProblem}
            error={error('attributes')}
          />
        </>
      )}
    </EditForm>
  );
}
