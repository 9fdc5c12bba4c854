import { useEffect, useRef, type ReactNode } from 'react';
import { FieldError, Input, Label, Text, TextArea, TextField } from 'react-aria-components';

export interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: ReactNode;
  /** What the server, or a rule of ours, finds wrong with it. */
  readonly error?: string | null;
  readonly type?: 'text' | 'password' | 'email' | 'search';
  readonly autoComplete?: string;
  readonly inputMode?: 'numeric' | 'text';
  readonly isRequired?: boolean;
  readonly autoFocus?: boolean;
  readonly placeholder?: string;
}

/** One line of text with its label, a hint and what is wrong with it. */
export function Field({ label, hint, error, placeholder, autoFocus, ...rest }: FieldProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (autoFocus) input.current?.focus();
  }, [autoFocus]);
  return (
    <TextField {...rest} isInvalid={Boolean(error)} validationBehavior="aria">
      <Label>{label}</Label>
      <Input ref={input} placeholder={placeholder} />
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError>{error}</FieldError>
    </TextField>
  );
}

export interface AreaProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly rows?: number;
  readonly hint?: ReactNode;
  readonly error?: string | null;
  readonly placeholder?: string;
  readonly isMono?: boolean;
  readonly onKeyDown?: (event: React.KeyboardEvent) => void;
  readonly onPaste?: (event: React.ClipboardEvent) => void;
  readonly autoFocus?: boolean;
}

/** Several lines of text. */
export function Area({
  label,
  value,
  onChange,
  rows = 3,
  hint,
  error,
  placeholder,
  isMono = false,
  onKeyDown,
  onPaste,
  autoFocus,
}: AreaProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (autoFocus) area.current?.focus();
  }, [autoFocus]);
  return (
    <TextField value={value} onChange={onChange} isInvalid={Boolean(error)} validationBehavior="aria">
      <Label>{label}</Label>
      <TextArea
        ref={area}
        rows={rows}
        placeholder={placeholder}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
        spellCheck={!isMono}
        className={`react-aria-TextArea${isMono ? ' mono' : ''}`}
      />
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError>{error}</FieldError>
    </TextField>
  );
}
