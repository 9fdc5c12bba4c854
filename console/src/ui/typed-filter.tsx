import { useEffect, useState } from 'react';
import { Field } from './fields.tsx';

interface TypedFilterProps {
  readonly label: string;
  readonly value: string;
  readonly onSettle: (value: string) => void;
}

const settleMs = 350;

/** A text that becomes a filter when its typist pauses. */
export function TypedFilter({ label, value, onSettle }: TypedFilterProps) {
  const [typed, setTyped] = useState({ of: value, text: value });
  const text = typed.of === value ? typed.text : value;
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onSettle(text.trim()), settleMs);
    return () => clearTimeout(timer);
  });
  return <Field label={label} value={text} onChange={(next) => setTyped({ of: value, text: next })} />;
}
