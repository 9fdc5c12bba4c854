import { useRef, useState, type ReactNode } from 'react';
import { ApiError } from '@longhaul/client';
import { Button, Dialog, DialogTrigger, Form, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { FormFields, type FormField, type Values } from './form-fields.tsx';
import { formTexts } from './form-messages.ts';
import { ConflictSides } from './conflict-sides.tsx';
import { mergeJson, type JsonConflict } from './merge-json.ts';
import { useFieldErrors } from './field-errors.ts';
import { Fault, Notice } from './notice.tsx';
import { useIntent } from './use-intent.ts';

/** What a form was opened with; the ETag goes back with the write. */
export interface Opened {
  readonly values: Values;
  readonly etag?: string;
}

export interface WriteOptions {
  readonly idempotencyKey: string;
  readonly ifMatch?: string;
}

interface FormDialogProps<Content> {
  /** Of the button that opens it. */
  readonly label: string;
  readonly title: string;
  /** Of the button that writes. */
  readonly submit: string;
  readonly tone?: 'primary' | 'danger';
  readonly isPrimary?: boolean;
  /** Why it can't be done now; the button is disabled and says so. */
  readonly disabledBecause?: string | null;
  readonly intro?: ReactNode;
  /** Where some depend on what others hold: by what they hold. */
  readonly fields: readonly FormField[] | ((values: Values) => readonly FormField[]);
  /** Below the fields: what the server makes of them. */
  readonly preview?: (values: Values) => ReactNode;
  /** What the fields begin with. */
  readonly initial?: Values;
  /** Reads what is edited, each time that the dialog opens and after somebody else was faster. */
  readonly read?: () => Promise<Opened>;
  /** What is sent, as the fields have it; null: not complete yet. */
  readonly toContent: (values: Values) => Content | null;
  readonly write: (content: Content, options: WriteOptions) => Promise<unknown>;
  readonly onDone?: () => void;
}

/** A button that opens a form, which writes what it holds. It keeps the version that it was opened with, and merges when somebody else was faster. */
export function FormDialog<Content>({ label, disabledBecause = null, isPrimary = false, ...form }: FormDialogProps<Content>) {
  const [isOpen, setOpen] = useState(false);
  const [opened, setOpened] = useState<Opened | { readonly error: unknown } | null>(null);
  const change = (next: boolean) => {
    setOpen(next);
    if (!next) return setOpened(null);
    if (form.read === undefined) return setOpened({ values: form.initial ?? {} });
    form.read().then(setOpened, (error: unknown) => setOpened({ error }));
  };
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={change}>
      <Button isDisabled={disabledBecause !== null} className={`react-aria-Button${isPrimary ? ' primary' : ''}`}>
        {label}
      </Button>
      {disabledBecause !== null && <span className="hint">{disabledBecause}</span>}
      <ModalOverlay>
        <Modal>
          <Dialog>
            {opened === null && <p role="status">{t.list.loading}</p>}
            {opened !== null && 'error' in opened && <Fault error={opened.error} onRetry={() => change(true)} />}
            {opened !== null && 'values' in opened && <OpenForm {...form} opened={opened} onClose={() => change(false)} />}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

interface OpenFormProps<Content> extends Omit<FormDialogProps<Content>, 'label' | 'disabledBecause' | 'initial'> {
  readonly opened: Opened;
  readonly onClose: () => void;
}

function OpenForm<Content>({ opened, onClose, ...form }: OpenFormProps<Content>) {
  const base = useRef(opened);
  const [values, setValues] = useState<Values>(opened.values);
  const [merge, setMerge] = useState<readonly JsonConflict[] | null>(null);
  const formElement = useRef<HTMLFormElement>(null);
  const takeOver = async (read: () => Promise<Opened>) => {
    const now = await read();
    const { merged, conflicts } = mergeJson(base.current.values, now.values, values);
    base.current = now;
    setValues(merged);
    setMerge(conflicts);
  };
  const { send, isBusy, error } = useIntent<Content>((content, options) =>
    form.write(content, { ...options, ifMatch: base.current.etag }).catch(async (thrown: unknown) => {
      if (thrown instanceof ApiError && thrown.status === 412 && form.read !== undefined) await takeOver(form.read);
      throw thrown;
    }),
  );
  const content = form.toContent(values);
  const fields = typeof form.fields === 'function' ? form.fields(values) : form.fields;
  const pointers = fields.map(({ name }) => pointerOf(name));
  const { at, rest } = useFieldErrors(error, pointers, formElement);
  const errors = Object.fromEntries(
    fields.flatMap(({ name }) => (at(pointerOf(name)) === null ? [] : [[name, at(pointerOf(name)) ?? ''] as const])),
  );
  const isAtFields = Object.keys(errors).length > 0 && rest.length === 0;
  const set = (name: string, value: string) => setValues((all) => ({ ...all, [name]: value }));
  const act = async () => {
    if (content === null || (merge !== null && merge.length > 0)) return;
    setMerge(null);
    if (!(await send(content))) return;
    onClose();
    form.onDone?.();
  };
  return (
    <Form
      ref={formElement}
      onSubmit={(event) => {
        event.preventDefault();
        void act();
      }}
      className="stack"
    >
      <Heading slot="title" level={2}>
        {form.title}
      </Heading>
      {merge !== null && <Notice tone="warn" text={merge.length === 0 ? formTexts.merged : formTexts.conflict} />}
      {error !== null && merge === null && !isAtFields && <Fault error={error} fields={pointers} />}
      {form.intro}
      {merge?.map((conflict) => {
        const name = conflict.pointer.slice(1);
        return (
          <ConflictSides
            key={name}
            conflict={conflict}
            label={fields.find((field) => field.name === name)?.label ?? name}
            onChoose={(value) => {
              set(name, typeof value === 'string' ? value : '');
              setMerge(merge.filter(({ pointer }) => pointer !== conflict.pointer));
            }}
          />
        );
      })}
      <FormFields fields={fields} values={values} errors={errors} onChange={set} />
      {form.preview?.(values)}
      <div className="actions">
        <Button
          type="submit"
          className={`react-aria-Button ${form.tone ?? 'primary'}`}
          isPending={isBusy}
          isDisabled={content === null || (merge !== null && merge.length > 0)}
        >
          {form.submit}
        </Button>
        <Button slot="close">{t.actions.back}</Button>
      </div>
    </Form>
  );
}

/** A field of an object within (`owner.email`) has its own place in what is sent. */
function pointerOf(name: string): string {
  return `/${name.replaceAll('.', '/')}`;
}
