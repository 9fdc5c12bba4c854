import { useState } from 'react';
import { Area } from './fields.tsx';
import { readJson } from './read-json.ts';
import { isSame } from './merge-json.ts';

interface JsonFieldProps {
  readonly label: string;
  /** undefined: an empty field. */
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  readonly onProblem: (problem: string | null) => void;
  readonly error?: string | null;
  readonly rows?: number;
}

/** A small value as JSON. While the text is not JSON it says so, and the value stays what it was. */
export function JsonField({ label, value, onChange, onProblem, error = null, rows = 4 }: JsonFieldProps) {
  const [typed, setTyped] = useState<{ readonly text: string; readonly of: unknown; readonly problem: string | null } | null>(null);
  const isTyped = typed !== null && isSame(typed.of, value);
  const text = isTyped ? typed.text : value === undefined ? '' : JSON.stringify(value, null, 2);
  const change = (next: string) => {
    const { value: read, problem } = next.trim() === '' ? { value: undefined, problem: null } : readJson(next);
    setTyped({ text: next, of: problem === null ? read : value, problem });
    onProblem(problem);
    if (problem === null) onChange(read);
  };
  return <Area label={label} value={text} onChange={change} error={(isTyped ? typed.problem : null) ?? error} rows={rows} isMono />;
}
