import { Check } from './check.tsx';
import { Choice } from './choice.tsx';
import { Area, Field } from './fields.tsx';
import styles from './form-fields.module.css';

/** What fields hold: texts by name; a check is `true` or nothing. */
export type Values = Readonly<Record<string, string>>;

interface Described {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
}

export type FormField =
  | (Described & {
      readonly kind?: 'text' | 'email' | 'password';
      readonly autoComplete?: string;
      readonly inputMode?: 'numeric' | 'text';
      readonly placeholder?: string;
    })
  | (Described & { readonly kind: 'area'; readonly isMono?: boolean; readonly rows?: number })
  | (Described & { readonly kind: 'choice'; readonly options: readonly { readonly id: string; readonly label: string }[] })
  | (Described & { readonly kind: 'check' })
  | (Described & { readonly kind: 'day' | 'moment' });

interface FormFieldsProps {
  readonly fields: readonly FormField[];
  readonly values: Values;
  /** What is wrong with each, by name. */
  readonly errors: Values;
  readonly onChange: (name: string, value: string) => void;
}

/** The fields of a form, each with what the server found wrong with it. */
export function FormFields({ fields, values, errors, onChange }: FormFieldsProps) {
  return fields.map((field, index) => (
    <OneField
      key={field.name}
      field={field}
      value={values[field.name] ?? ''}
      error={errors[field.name] ?? null}
      isFirst={index === 0}
      onChange={(value) => onChange(field.name, value)}
    />
  ));
}

interface OneFieldProps {
  readonly field: FormField;
  readonly value: string;
  readonly error: string | null;
  readonly isFirst: boolean;
  readonly onChange: (value: string) => void;
}

function OneField({ field, value, error, isFirst, onChange }: OneFieldProps) {
  const { label, hint } = field;
  switch (field.kind) {
    case 'choice':
      return (
        <div>
          <Choice label={label} value={value} options={field.options} onChange={onChange} />
          <Below hint={hint} error={error} />
        </div>
      );
    case 'check':
      return (
        <div>
          <Check label={label} isChecked={value === 'true'} onChange={(isChecked) => onChange(isChecked ? 'true' : '')} />
          <Below hint={hint} error={error} />
        </div>
      );
    case 'day':
    case 'moment':
      return (
        <label className={styles.day}>
          <span>{label}</span>
          <input
            type={field.kind === 'day' ? 'date' : 'datetime-local'}
            step={field.kind === 'day' ? undefined : 'any'}
            className="react-aria-Input"
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
          <Below hint={hint} error={error} />
        </label>
      );
    case 'area':
      return (
        <Area label={label} hint={hint} value={value} onChange={onChange} error={error} rows={field.rows} isMono={field.isMono ?? false} />
      );
    default:
      return (
        <Field
          label={label}
          hint={hint}
          value={value}
          onChange={onChange}
          error={error}
          type={field.kind ?? 'text'}
          autoComplete={field.autoComplete ?? 'off'}
          inputMode={field.inputMode}
          placeholder={field.placeholder}
          autoFocus={isFirst}
        />
      );
  }
}

function Below({ hint, error }: { readonly hint: string | undefined; readonly error: string | null }) {
  return (
    <>
      {hint !== undefined && <p className="hint">{hint}</p>}
      {error !== null && <p className="error">{error}</p>}
    </>
  );
}
