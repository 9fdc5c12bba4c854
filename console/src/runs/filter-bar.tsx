import { Button } from 'react-aria-components';
import type { Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import { TypedFilter } from '../ui/typed-filter.tsx';
import { t as own } from './messages.ts';
import { parseRunFilters, runStatuses, waitingOns, type RunFilters } from './run-filters.ts';
import styles from './runs.module.css';

interface FilterBarProps {
  readonly filters: RunFilters;
  readonly agents: readonly Views['AgentView'][];
  readonly onChange: (filters: RunFilters) => void;
}

/** Every filter of the list as a field. */
export function FilterBar({ filters, agents, onChange }: FilterBarProps) {
  const any = { id: '', label: t.runs.any };
  const set = (name: keyof RunFilters, value: string) => onChange(parseRunFilters({ ...filters, [name]: value }));
  const rare = rareFilters.filter((name) => filters[name] !== undefined).length;

  return (
    <div role="group" aria-label={t.runs.filters} className={`${styles.filters} ${styles.bar}`}>
      <Choice
        label={t.runs.status}
        value={filters.status ?? ''}
        options={[any, ...runStatuses.map((id) => ({ id, label: t.status[id] ?? id }))]}
        onChange={(value) => set('status', value)}
      />
      <Choice
        label={t.runs.waitingOn}
        value={filters.waiting_on ?? ''}
        options={[any, ...waitingOns.map((id) => ({ id, label: t.waitingOn[id] ?? id }))]}
        onChange={(value) => set('waiting_on', value)}
      />
      <Choice
        label={t.runs.agent}
        value={filters.agent_id ?? ''}
        options={[any, ...agents.map(({ id, name }) => ({ id, label: name }))]}
        onChange={(value) => set('agent_id', value)}
      />
      <details className={styles.more} open={rare > 0 || undefined}>
        <summary>{t.runs.moreFilters(rare)}</summary>
        <div className={styles.filters}>
          <TypedFilter label={t.runs.sessionKey} value={filters.session_key ?? ''} onSettle={(value) => set('session_key', value)} />
          <TypedFilter label={t.runs.subject} value={filters.subject_id ?? ''} onSettle={(value) => set('subject_id', value)} />
          {idFilters.map(([name, label]) => (
            <TypedFilter
              key={name}
              label={label}
              problemOf={idProblemOf}
              value={filters[name] ?? ''}
              onSettle={(value) => set(name, value)}
            />
          ))}
          <Day label={t.runs.from} at={filters.from} onChange={(value) => set('from', value)} />
          <Day label={t.runs.to} at={filters.to} onChange={(value) => set('to', value)} />
        </div>
      </details>
      {Object.keys(filters).length > 0 && (
        <Button className="react-aria-Button quiet" onPress={() => onChange({})}>
          {t.runs.clear}
        </Button>
      )}
    </div>
  );
}

const rareFilters = [
  'session_key',
  'subject_id',
  'trigger_id',
  'parent_run_id',
  'evaluation_run_id',
  'binding_id',
  'from',
  'to',
] as const satisfies readonly (keyof RunFilters)[];

const idFilters = [
  ['trigger_id', own.trigger],
  ['parent_run_id', own.parentRun],
  ['evaluation_run_id', own.evaluation],
  ['binding_id', own.binding],
] as const;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const idProblemOf = (text: string) => (text === '' || uuid.test(text) ? null : own.notAnId);

/** A day in the reader's zone: its first moment is the filter. */
function Day({
  label,
  at,
  onChange,
}: {
  readonly label: string;
  readonly at: string | undefined;
  readonly onChange: (at: string) => void;
}) {
  return (
    <label className={styles.day}>
      <span>{label}</span>
      <input
        type="date"
        className="react-aria-Input"
        value={at === undefined ? '' : dayOf(new Date(at))}
        onChange={({ target }) => onChange(target.value === '' ? '' : new Date(`${target.value}T00:00:00`).toISOString())}
      />
    </label>
  );
}

function dayOf(date: Date): string {
  if (Number.isNaN(date.getTime())) return '';
  const two = (part: number) => String(part).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
