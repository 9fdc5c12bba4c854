import { useState } from 'react';
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { formTexts } from './form-messages.ts';
import { Notice } from './notice.tsx';
import styles from './shown-once.module.css';

interface ShownOnceProps {
  readonly title: string;
  /** null: closed. It lies in the memory of this view alone, and is gone when the dialog closes. */
  readonly secret: string | null;
  readonly onClose: () => void;
}

/** A secret that the server shows once. A press beside the dialog does not close it. */
export function ShownOnce({ title, secret, onClose }: ShownOnceProps) {
  const [isCopied, setCopied] = useState(false);
  const close = () => {
    setCopied(false);
    onClose();
  };
  return (
    <ModalOverlay isOpen={secret !== null} isKeyboardDismissDisabled>
      <Modal>
        <Dialog>
          <Heading slot="title" level={2}>
            {title}
          </Heading>
          <Notice tone="warn" text={formTexts.once} />
          <pre className={styles.secret}>
            <code>{secret}</code>
          </pre>
          <div className="actions">
            <Button onPress={() => void navigator.clipboard?.writeText(secret ?? '').then(() => setCopied(true))}>{formTexts.copy}</Button>
            <Button className="react-aria-Button primary" onPress={close}>
              {formTexts.done}
            </Button>
            <span role="status" className="hint">
              {isCopied ? formTexts.copied : ''}
            </span>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
