import { useState, type ReactNode } from 'react';
import { Button, Dialog, DialogTrigger, Form, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { Fault } from './notice.tsx';
import { useIntent } from './use-intent.ts';

interface ActionDialogProps<Content> {
  /** Of the button that opens it. */
  readonly label: ReactNode;
  readonly title: string;
  /** Of the button that does it. */
  readonly submit: string;
  readonly tone?: 'primary' | 'danger';
  /** Why it can't be done now; the button is disabled and says so. */
  readonly disabledBecause?: string | null;
  /** What is sent, as the fields have it; null: not complete yet. */
  readonly content: Content | null;
  readonly write: (content: Content, options: { readonly idempotencyKey: string }) => Promise<unknown>;
  /** After it is done and the dialog has closed. */
  readonly onDone?: () => void;
  readonly onOpen?: () => void;
  readonly children?: ReactNode;
}

/** A button that asks before it acts: what will be done, its fields, what went wrong, and a way back. */
export function ActionDialog<Content>({ label, disabledBecause = null, onOpen, ...form }: ActionDialogProps<Content>) {
  const [isOpen, setOpen] = useState(false);
  const change = (next: boolean) => {
    if (next) onOpen?.();
    setOpen(next);
  };
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={change}>
      <Button isDisabled={disabledBecause !== null}>{label}</Button>
      {disabledBecause !== null && <span className="hint">{disabledBecause}</span>}
      <ModalOverlay isDismissable>
        <Modal>
          <Dialog>
            <ActionForm {...form} onClose={() => setOpen(false)} />
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  );
}

type ActionFormProps<Content> = Omit<ActionDialogProps<Content>, 'label' | 'disabledBecause' | 'onOpen'> & { readonly onClose: () => void };

function ActionForm<Content>({ title, submit, tone = 'primary', content, write, onDone, onClose, children }: ActionFormProps<Content>) {
  const { send, isBusy, error } = useIntent(write);
  const act = async () => {
    if (content === null || !(await send(content))) return;
    onClose();
    onDone?.();
  };
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault();
        void act();
      }}
    >
      <Heading slot="title" level={2}>
        {title}
      </Heading>
      {error !== null && <Fault error={error} />}
      {children}
      <div className="actions">
        <Button type="submit" className={`react-aria-Button ${tone}`} isPending={isBusy} isDisabled={content === null}>
          {submit}
        </Button>
        <Button slot="close">{t.actions.back}</Button>
      </div>
    </Form>
  );
}
