import { useMemo } from 'react';
import { formTexts } from './form-messages.ts';
import styles from './json-diff.module.css';
import { diffLines, type DiffLine } from './line-diff.ts';

interface JsonDiffProps {
  readonly label: string;
  readonly before: unknown;
  readonly after: unknown;
}

const contextLines = 3;

/** Where two values differ, line by line, with a few lines around each change. Texts are compared as they are, other values as JSON. */
export function JsonDiff({ label, before, after }: JsonDiffProps) {
  const parts = useMemo(() => fold(diffLines(textOf(before), textOf(after))), [before, after]);
  if (parts.every((part) => typeof part === 'number' || part.kind === 'same')) return <p className="hint">{formTexts.same}</p>;
  return (
    <div className={styles.diff} role="region" aria-label={label} tabIndex={0}>
      <ol>
        {parts.map((part, index) => (
          <Line key={index} part={part} />
        ))}
      </ol>
    </div>
  );
}

function Line({ part }: { readonly part: DiffLine | number }) {
  if (typeof part === 'number') return <li className={styles.skipped}>{formTexts.skipped(part)}</li>;
  const { kind, text } = part;
  if (kind === 'same') return <li>{text}</li>;
  const Changed = kind === 'added' ? 'ins' : 'del';
  return (
    <li className={styles[kind]}>
      <span className="hidden">{formTexts[kind]} </span>
      <Changed>{text}</Changed>
    </li>
  );
}

/** Lines far from any change become their count. */
function fold(lines: readonly DiffLine[]): (DiffLine | number)[] {
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - contextLines), index + contextLines + 1).some(({ kind }) => kind !== 'same');
  const parts: (DiffLine | number)[] = [];
  lines.forEach((line, index) => {
    const last = parts.at(-1);
    if (isNear(index)) parts.push(line);
    else if (typeof last === 'number') parts[parts.length - 1] = last + 1;
    else parts.push(1);
  });
  return parts;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}
