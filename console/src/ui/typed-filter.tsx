import { useEffect, useState } from 'react';
import { Field } from './fields.tsx';

interface TypedFilterProps {
  readonly label: string;
  readonly value: string;
  readonly onSettle: (value: string) => void;
  /** Why a text is no filter; null: it is one. */
  readonly problemOf?: (value: string) => string | null;
}

const settleMs = 350;

/** A text that becomes a filter when its typist pauses. */
export function TypedFilter({ label, value, onSettle, problemOf = () => null }: TypedFilterProps) {
  const [typed, setTyped] = useState({ of: value, text: value });
  const text = typed.of === value ? typed.text : value;
  const problem = problemOf(text.trim());
  useEffect(() => {
    if (text === value || problem !== null) return;
    const timer = setTimeout(() => onSettle(text.trim()), settleMs);
    return () => clearTimeout(timer);
  });
  return <Field label={label} value={text} error={problem} onChange={(next) => setTyped({ of: value, text: next })} />;
}
