import { approvalTexts } from './messages.ts';
import { changesBetween } from '../ui/json-changes.ts';
import styles from './approvals.module.css';

/** What an edit changes, place by place. */
export function ArgsChanges({ before, after }: { readonly before: unknown; readonly after: unknown }) {
  const changes = changesBetween(before, after);
  if (changes.length === 0) return <p className="hint">{approvalTexts.unchanged}</p>;
  return (
    <section aria-label={approvalTexts.changes}>
      <h3>{approvalTexts.changes}</h3>
      <ul className={styles.changes}>
        {changes.map(({ pointer, before: old, after: fresh }) => (
          <li key={pointer}>
            <code>{pointer}</code>
            {old !== undefined && (
              <del>
                <span className="hidden">{approvalTexts.before}: </span>
                {JSON.stringify(old)}
              </del>
            )}
            {fresh !== undefined && (
              <ins>
                <span className="hidden">{approvalTexts.after}: </span>
                {JSON.stringify(fresh)}
              </ins>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
