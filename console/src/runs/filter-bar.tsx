import { useEffect, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { Choice } from '../ui/choice.tsx';
import { Field } from '../ui/fields.tsx';
import { parseRunFilters, runStatuses, textFilters, waitingOns, type RunFilters } from './run-filters.ts';
import styles from './runs.module.css';

interface FilterBarProps {
  readonly filters: RunFilters;
  readonly agents: readonly Views['AgentView'][];
  readonly onChange: (filters: RunFilters) => void;
}

/** Filters as fields; those that only links set are shown as what they are, and can be taken away. */
export function FilterBar({ filters, agents, onChange }: FilterBarProps) {
  const any = { id: '', label: t.runs.any };
  const set = (name: keyof RunFilters, value: string) => onChange(parseRunFilters({ ...filters, [name]: value }));
  const rare = [filters.session_key, filters.subject_id, filters.from, filters.to].filter((value) => value !== undefined).length;
  const fromLinks = textFilters.filter((name) => isFromLinks(name) && filters[name] !== undefined);

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
          <Typed label={t.runs.sessionKey} value={filters.session_key ?? ''} onSettle={(value) => set('session_key', value)} />
          <Typed label={t.runs.subject} value={filters.subject_id ?? ''} onSettle={(value) => set('subject_id', value)} />
          <Day label={t.runs.from} at={filters.from} onChange={(value) => set('from', value)} />
          <Day label={t.runs.to} at={filters.to} onChange={(value) => set('to', value)} />
        </div>
      </details>
      {Object.keys(filters).length > 0 && (
        <Button className="react-aria-Button quiet" onPress={() => onChange({})}>
          {t.runs.clear}
        </Button>
      )}
      {fromLinks.map((name) => (
        <Button key={name} className="react-aria-Button quiet" onPress={() => set(name, '')} aria-label={`${t.runs.clear}: ${name}`}>
          <code>
            {name} {filters[name]?.slice(-12)}
          </code>
          ✕
        </Button>
      ))}
    </div>
  );
}

function isFromLinks(name: string): boolean {
  return name.endsWith('_run_id') || name === 'trigger_id' || name === 'binding_id';
}

interface TypedProps {
  readonly label: string;
  readonly value: string;
  readonly onSettle: (value: string) => void;
}

const settleMs = 350;

/** A text that becomes a filter when its typist pauses. */
function Typed({ label, value, onSettle }: TypedProps) {
  const [typed, setTyped] = useState({ of: value, text: value });
  const text = typed.of === value ? typed.text : value;
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onSettle(text.trim()), settleMs);
    return () => clearTimeout(timer);
  });
  return <Field label={label} value={text} onChange={(next) => setTyped({ of: value, text: next })} />;
}

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
