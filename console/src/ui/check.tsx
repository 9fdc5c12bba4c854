import styles from './check.module.css';

interface CheckProps {
  readonly label: string;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  readonly isDisabled?: boolean;
}

/** Yes or no. */
export function Check({ label, isChecked, onChange, isDisabled = false }: CheckProps) {
  return (
    <label className={styles.check}>
      <input type="checkbox" checked={isChecked} disabled={isDisabled} onChange={({ target }) => onChange(target.checked)} />
      <span>{label}</span>
    </label>
  );
}
