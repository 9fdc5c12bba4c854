import { useRef, useState, type ReactNode } from 'react';
import { ApiError } from '@longhaul/client';
import { Button, Form } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { changedFields, useEdit, type Version } from './edit-state.ts';
import { ConflictSides } from './conflict-sides.tsx';
import { useFieldErrors } from './field-errors.ts';
import { formTexts } from './form-messages.ts';
import { LeaveGuard } from './leave-guard.tsx';
import { mergeJson, withValueAt, type JsonConflict } from './merge-json.ts';
import { Fault, Notice } from './notice.tsx';
import { useIntent } from './use-intent.ts';

/** What the fields of a form are given. */
export interface EditFields<T> {
  readonly value: T;
  readonly set: <Name extends keyof T>(name: Name, value: T[Name]) => void;
  readonly replace: (value: T) => void;
  /** What the server finds wrong with a field; null: nothing. */
  readonly error: (name: keyof T & string) => string | null;
}

interface EditFormProps<T extends object> {
  /** Names the draft: the kind and id of what is edited. */
  readonly draft: string;
  /** The newest version that is known; polling may change it at any time. */
  readonly current: Version<T>;
  /** Reads it anew, after somebody else was faster. */
  readonly read: () => Promise<Version<T>>;
  /** Gets the fields that have changed alone. */
  readonly write: (
    changes: Partial<T>,
    options: { readonly idempotencyKey: string; readonly ifMatch?: string },
    whole: T,
  ) => Promise<unknown>;
  /** Of each field, for messages and for the choice after a conflict. */
  readonly labels: { readonly [Name in keyof T & string]: string };
  /** Where the object lies in what is sent, as a JSON pointer. */
  readonly pointer?: string;
  /** Whether a refusal says that somebody else was faster; without it, 412. */
  readonly isOvertaken?: (error: unknown) => boolean;
  /** Fields that no storage may hold. */
  readonly secrets?: readonly (keyof T)[];
  readonly submit?: string;
  /** Why it can't be saved as it is, such as a text that is not JSON. */
  readonly disabledBecause?: string | null;
  readonly onSaved?: () => void;
  readonly children: (fields: EditFields<T>) => ReactNode;
}

/**
 * A form over one object, with the version that it was opened with. Polling never changes what somebody has begun; leaving asks; a draft outlives a reload.
 * After a 412 what one side has changed merges by itself, the rest is chosen, and saving goes on with the newer version.
 */
export function EditForm<T extends object>(props: EditFormProps<T>) {
  const { draft, current, read, write, labels, secrets = [], submit = t.actions.save, disabledBecause = null, onSaved, children } = props;
  const { pointer: prefix = '', isOvertaken = isPreconditionFailed } = props;
  const { edit, isDirty, change, drop } = useEdit(draft, current, secrets);
  const [merge, setMerge] = useState<readonly JsonConflict[] | null>(null);
  const [isSaved, setSaved] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const names = Object.keys(labels) as (keyof T & string)[]; // the type has these alone
  const pointers = names.map((name) => `${prefix}/${name}`);
  const takeOver = async () => {
    const now = await read();
    // What has been typed since then counts as well.
    change(({ base, mine }) => ({ base: now, mine: mergeJson(base.value, now.value, mine).merged }));
    setMerge(mergeJson(edit.base.value, now.value, edit.mine).conflicts);
  };
  const { send, isBusy, error } = useIntent<Partial<T>>((content, options) => {
    const ifMatch = edit.base.etag;
    return write(content, { ...options, ifMatch }, edit.mine).catch(async (thrown: unknown) => {
      if (isOvertaken(thrown)) await takeOver();
      throw thrown;
    });
  });
  const { at, rest } = useFieldErrors(error, pointers, form);
  const hasChoices = merge !== null && merge.length > 0;
  const isAtFields = rest.length === 0 && pointers.some((pointer) => at(pointer) !== null);
  const set: EditFields<T>['set'] = (name, value) => {
    setSaved(false);
    change(({ base, mine }) => ({ base, mine: { ...mine, [name]: value } }));
  };
  const replace = (value: T) => {
    setSaved(false);
    change(({ base }) => ({ base, mine: value }));
  };
  const discard = () => {
    drop();
    setMerge(null);
  };
  const act = async () => {
    if (!isDirty || disabledBecause !== null || hasChoices) return;
    setMerge(null);
    if (!(await send(changedFields(edit)))) return;
    drop();
    setSaved(true);
    onSaved?.();
  };
  const choose = (conflict: JsonConflict, value: unknown) => {
    change(({ base, mine }) => ({ base, mine: withValueAt(mine, conflict.pointer, value) as T })); // a place within it
    setMerge((all) => all?.filter(({ pointer }) => pointer !== conflict.pointer) ?? null);
  };
  return (
    <Form
      ref={form}
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void act();
      }}
    >
      <LeaveGuard isDirty={isDirty} onDiscard={drop} />
      {merge !== null && <Notice tone="warn" text={merge.length === 0 ? formTexts.merged : formTexts.conflict} />}
      {error !== null && merge === null && !isAtFields && <Fault error={error} fields={pointers} />}
      {merge?.map((conflict) => (
        <ConflictSides
          key={conflict.pointer}
          conflict={conflict}
          label={labelOf(conflict, labels)}
          onChoose={(value) => choose(conflict, value)}
        />
      ))}
      {children({ value: edit.mine, set, replace, error: (name) => at(`${prefix}/${name}`) })}
      <div className="actions">
        <Button
          type="submit"
          className="react-aria-Button primary"
          isPending={isBusy}
          isDisabled={!isDirty || disabledBecause !== null || hasChoices}
        >
          {submit}
        </Button>
        {isDirty && <Button onPress={discard}>{formTexts.discard}</Button>}
        <span role="status" className="hint">
          {disabledBecause ?? (isDirty ? formTexts.unsaved : isSaved ? formTexts.saved : '')}
        </span>
      </div>
    </Form>
  );
}

/** The label of the field, and the place within it. */
function labelOf({ pointer }: JsonConflict, labels: Readonly<Record<string, string>>): string {
  const [name = '', ...within] = pointer.split('/').slice(1);
  return [labels[name] ?? name, ...within].join(' › ');
}

function isPreconditionFailed(error: unknown): boolean {
  return error instanceof ApiError && error.status === 412;
}
