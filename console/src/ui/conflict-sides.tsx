import { Button } from 'react-aria-components';
import styles from './form-fields.module.css';
import { formTexts } from './form-messages.ts';
import type { JsonConflict } from './merge-json.ts';

interface ConflictSidesProps {
  readonly conflict: JsonConflict;
  readonly label: string;
  readonly onChoose: (value: unknown) => void;
}

/** What a field was when it was opened, is now, and is in the form, with the choice between the last two. */
export function ConflictSides({ conflict: { opened, now, mine }, label, onChoose }: ConflictSidesProps) {
  return (
    <section className={styles.conflict} aria-label={label}>
      <h3>{label}</h3>
      <dl className={styles.sides}>
        <dt>{formTexts.opened}</dt>
        <dd>{shown(opened)}</dd>
        <dt>{formTexts.now}</dt>
        <dd>{shown(now)}</dd>
        <dt>{formTexts.mine}</dt>
        <dd>{shown(mine)}</dd>
      </dl>
      <div className="actions">
        <Button onPress={() => onChoose(now)}>{formTexts.takeNow}</Button>
        <Button onPress={() => onChoose(mine)}>{formTexts.keepMine}</Button>
      </div>
    </section>
  );
}

function shown(value: unknown): string {
  if (value === undefined || value === null || value === '') return formTexts.nothing;
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
