import { useQuery } from '@tanstack/react-query';
import { Button } from 'react-aria-components';
import { api } from '../app/api.ts';
import { Choice } from '../ui/choice.tsx';
import type { EditFields } from '../ui/edit-form.tsx';
import type { RevisionDocument } from './draft.tsx';
import { agentTexts as a } from './messages.ts';

const kinds = ['tools', 'toolkits', 'skills', 'sub_agents', 'knowledge'] as const;
type Kind = (typeof kinds)[number];

interface Named {
  readonly id: string;
  readonly label: string;
}

interface Binding {
  readonly id?: string;
  readonly slug?: string;
  readonly approval?: keyof typeof a.approvals;
}

/** What can be bound, by kind: at most the first 200 of each; more can be written as JSON. */
function readChoices(agentId: string, kind: Kind, signal: AbortSignal): Promise<readonly Named[]> {
  const named = ({ items }: { readonly items: readonly { readonly id: string; readonly slug?: string; readonly name?: string }[] }) =>
    items.map(({ id, slug, name }) => ({ id, label: name ?? slug ?? id }));
  switch (kind) {
    case 'tools':
      return api.listTools({ limit: 200 }, { signal }).then(({ items }) => items.map(({ id, slug }) => ({ id, label: slug })));
    case 'toolkits':
      return api.listToolkits({ limit: 200 }, { signal }).then(named);
    case 'skills':
      return api.listSkills({ limit: 200 }, { signal }).then(named);
    case 'sub_agents':
      return api.listAvailableSubAgents({ agent_id: agentId }, { signal }).then(named);
    case 'knowledge':
      return api.listKnowledgeBases({ limit: 200 }, { signal }).then(named);
    default:
      return kind satisfies never;
  }
}

interface BindingFieldsProps {
  readonly agentId: string;
  readonly fields: EditFields<RevisionDocument>;
}

/** What the agent can use: tools, toolkits, skills, other agents, knowledge. */
export function BindingFields({ agentId, fields }: BindingFieldsProps) {
  return kinds.map((kind) => <Bindings key={kind} kind={kind} agentId={agentId} fields={fields} />);
}

function Bindings({ kind, agentId, fields: { value, set, error } }: BindingFieldsProps & { readonly kind: Kind }) {
  const choices = useQuery({ queryKey: ['bindable', kind, agentId], queryFn: ({ signal }) => readChoices(agentId, kind, signal) });
  const bound: readonly Binding[] = value[kind] ?? [];
  const write = (next: readonly Binding[]) => set(kind, next as never); // the fields beyond those above are kept as they were
  const nameOf = ({ id, slug }: Binding) => slug ?? choices.data?.find((one) => one.id === id)?.label ?? id ?? '';
  const free = (choices.data ?? []).filter(({ id, label }) => bound.every((one) => one.id !== id && one.slug !== label));
  return (
    <fieldset>
      <legend>{a.doc[kind]}</legend>
      {bound.map((one, index) => (
        <div key={one.id ?? one.slug} className="actions">
          <span>{nameOf(one)}</span>
          {(kind === 'tools' || kind === 'toolkits') && (
            <Choice
              label={a.approval(nameOf(one))}
              value={one.approval ?? 'default'}
              options={(['default', 'always', 'first', 'never'] as const).map((id) => ({ id, label: a.approvals[id] }))}
              onChange={(approval) => write(bound.map((other, at) => (at === index ? { ...other, approval } : other)))}
            />
          )}
          <Button onPress={() => write(bound.filter((_, at) => at !== index))}>{a.remove(nameOf(one))}</Button>
        </div>
      ))}
      {free.length > 0 && (
        <Choice
          label={a.add(a.doc[kind])}
          value=""
          options={[{ id: '', label: a.pick }, ...free]}
          onChange={(id) => id !== '' && write([...bound, { id }])}
        />
      )}
      {error(kind) !== null && <p className="error">{error(kind)}</p>}
    </fieldset>
  );
}
