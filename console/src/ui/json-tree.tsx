import { useState } from 'react';
import { Button } from 'react-aria-components';
import { t } from '../messages/en.ts';
import styles from './json.module.css';

/** So many children of one value are drawn at a time. */
const childrenShown = 100;
const textShown = 2_000;

/** A large value, a level at a time: what is closed is not in the page. */
export function JsonTree({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    <div className={styles.json} tabIndex={0} role="region" aria-label={label}>
      <Node name={null} value={value} isOpenAtFirst />
    </div>
  );
}

interface NodeProps {
  readonly name: string | null;
  readonly value: unknown;
  readonly isOpenAtFirst?: boolean;
}

function Node({ name, value, isOpenAtFirst = false }: NodeProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  if (typeof value !== 'object' || value === null)
    return (
      <div className={styles.leaf}>
        <Name name={name} />
        <Leaf value={value} />
      </div>
    );
  const size = Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className={styles.branch}>
        <Name name={name} />
        {size}
      </summary>
      {isOpen && <Children value={value} />}
    </details>
  );
}

function Name({ name }: { readonly name: string | null }) {
  return name === null ? null : <span className={styles.key}>{name}: </span>;
}

function Children({ value }: { readonly value: object }) {
  const [shown, setShown] = useState(childrenShown);
  const children = Object.entries(value);
  return (
    <div className={styles.children}>
      {children.slice(0, shown).map(([name, child]) => (
        <Node key={name} name={name} value={child} />
      ))}
      {children.length > shown && (
        <Button className="react-aria-Button quiet" onPress={() => setShown(shown + childrenShown)}>
          {`${t.actions.more} (${children.length - shown})`}
        </Button>
      )}
    </div>
  );
}

function Leaf({ value }: { readonly value: unknown }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== 'string') return <span className={styles.number}>{String(value)}</span>;
  const isCut = value.length > textShown && !isWhole;
  return (
    <>
      <span className={styles.text}>{JSON.stringify(isCut ? value.slice(0, textShown) : value)}</span>
      {isCut && (
        <Button className="react-aria-Button quiet" onPress={() => setWhole(true)}>
          {`${t.actions.more} (${value.length - textShown})`}
        </Button>
      )}
    </>
  );
}
