import { useState } from 'react';
import { approvalTexts } from './messages.ts';
import { Check } from '../ui/check.tsx';
import { Area, Field } from '../ui/fields.tsx';
import { valueIn } from './args-text.ts';

interface ArgsFormProps {
  readonly args: Readonly<Record<string, unknown>>;
  readonly onChange: (args: Record<string, unknown>) => void;
  /** Whether a field holds what is no value. */
  readonly onWrong: (isWrong: boolean) => void;
}

/** A field for each argument, by the kind of its value; what is neither text nor yes or no is JSON. */
export function ArgsForm({ args, onChange, onWrong }: ArgsFormProps) {
  const [wrong, setWrong] = useState<ReadonlySet<string>>(new Set());
  const set = (name: string, value: unknown) => {
    const next = new Set(wrong);
    if (value === undefined) next.add(name);
    else next.delete(name);
    setWrong(next);
    onWrong(next.size > 0);
    if (value !== undefined) onChange({ ...args, [name]: value });
  };
  return (
    <div className="stack">
      {Object.entries(args).map(([name, value], index) => (
        <Argument key={name} name={name} value={value} isFirst={index === 0} onChange={(next) => set(name, next)} />
      ))}
    </div>
  );
}

interface ArgumentProps {
  readonly name: string;
  readonly value: unknown;
  readonly isFirst: boolean;
  /** undefined: what has been typed is no value. */
  readonly onChange: (value: unknown) => void;
}

function Argument({ name, value, isFirst, onChange }: ArgumentProps) {
  if (typeof value === 'boolean') return <Check label={name} isChecked={value} onChange={onChange} />;
  if (typeof value !== 'string') return <JsonArgument name={name} value={value} isFirst={isFirst} onChange={onChange} />;
  if (!value.includes('\n') && value.length < 120) return <Field label={name} value={value} onChange={onChange} autoFocus={isFirst} />;
  return <Area label={name} rows={Math.min(12, value.split('\n').length + 2)} value={value} onChange={onChange} autoFocus={isFirst} />;
}

function JsonArgument({ name, value, isFirst, onChange }: ArgumentProps) {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const change = (next: string) => {
    setText(next);
    onChange(valueIn(next));
  };
  const error = valueIn(text) === undefined ? approvalTexts.invalidJson : null;
  if (typeof value === 'number') return <Field label={name} value={text} onChange={change} error={error} autoFocus={isFirst} />;
  return (
    <Area
      label={`${name} (JSON)`}
      isMono
      rows={Math.min(12, text.split('\n').length + 1)}
      value={text}
      onChange={change}
      error={error}
      autoFocus={isFirst}
    />
  );
}
