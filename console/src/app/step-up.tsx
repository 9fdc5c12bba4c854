import { useState, type FormEvent } from 'react';
import { Button, Dialog, Form, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { Field } from '../ui/fields.tsx';
import { Fault } from '../ui/notice.tsx';
import { useMe } from './access.ts';
import { api } from './api.ts';
import { session } from './session.ts';
import { stepUps } from './step-up-requests.ts';
import { useStore } from './use-store.ts';

/** Opens over whatever is on screen when a request needs a fresh second factor. */
export function StepUp() {
  const isOpen = useStore(stepUps).length > 0;
  return (
    <ModalOverlay isOpen={isOpen} onOpenChange={(open) => !open && stepUps.settleAll(false)}>
      <Modal>
        <Dialog>
          <Heading slot="title" level={2}>
            {t.stepUp.title}
          </Heading>
          <p>{t.stepUp.text}</p>
          {isOpen && <StepUpForm />}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function StepUpForm() {
  const { mfa } = useMe();
  const method = mfa?.enrolled ? 'totp' : 'password';
  const [code, setCode] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      session.renewed(await api.verifyMfa({ method, code }));
      stepUps.settleAll(true);
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <Form onSubmit={(event) => void submit(event)} className="stack">
      {error !== null && <Fault error={error} />}
      <Field
        label={method === 'totp' ? t.signIn.code : t.signIn.password}
        type={method === 'totp' ? 'text' : 'password'}
        inputMode={method === 'totp' ? 'numeric' : 'text'}
        autoComplete={method === 'totp' ? 'one-time-code' : 'current-password'}
        value={code}
        onChange={setCode}
        autoFocus
      />
      <div className="actions">
        <Button type="submit" className="react-aria-Button primary" isPending={isBusy} isDisabled={code === ''}>
          {t.stepUp.confirm}
        </Button>
        <Button onPress={() => stepUps.settleAll(false)}>{t.actions.cancel}</Button>
      </div>
    </Form>
  );
}
