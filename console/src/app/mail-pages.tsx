import { useState, type FormEvent, type ReactNode } from 'react';
import { Button, Form } from 'react-aria-components';
import { t } from '../messages/en.ts';
import { Field } from '../ui/fields.tsx';
import { Fault, Notice } from '../ui/notice.tsx';
import { CardPage } from './card-page.tsx';
import { takeMailToken } from './mail-token.ts';
import { publicPost } from './public-post.ts';
import { session, type Tokens } from './session.ts';

interface MailFormProps {
  readonly title: string;
  readonly submit: string;
  readonly done: string;
  readonly intro?: string;
  readonly isReady: boolean;
  readonly send: () => Promise<void>;
  readonly children?: ReactNode;
}

function MailForm({ title, submit, done, intro, isReady, send, children }: MailFormProps) {
  const [phase, setPhase] = useState<'open' | 'busy' | 'done'>('open');
  const [error, setError] = useState<unknown>(null);
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    setPhase('busy');
    setError(null);
    try {
      await send();
      setPhase('done');
    } catch (thrown) {
      setError(thrown);
      setPhase('open');
    }
  };
  if (phase === 'done')
    return (
      <CardPage title={title}>
        <Notice tone="plain" text={done} />
        <a href="/console">{t.mails.toSignIn}</a>
      </CardPage>
    );
  return (
    <CardPage title={title}>
      {intro && <p>{intro}</p>}
      {error !== null && <Fault error={error} />}
      <Form onSubmit={(event) => void onSubmit(event)} className="stack">
        {children}
        <Button type="submit" className="react-aria-Button primary" isPending={phase === 'busy'} isDisabled={!isReady}>
          {submit}
        </Button>
      </Form>
    </CardPage>
  );
}

/** Asks for a link by mail. */
export function ForgotPassword() {
  const [email, setEmail] = useState('');
  const { forgotTitle, forgotText, forgotSubmit, forgotDone } = t.mails;
  return (
    <MailForm
      title={forgotTitle}
      intro={forgotText}
      submit={forgotSubmit}
      done={forgotDone}
      isReady={email !== ''}
      send={() => publicPost('/auth/password/forgot', { email })}
    >
      <Field label={t.signIn.email} type="email" value={email} onChange={setEmail} autoComplete="username" autoFocus />
    </MailForm>
  );
}

/** Where the mails about a first or a forgotten password lead. */
export function NewPassword({ isFirst }: { readonly isFirst: boolean }) {
  const [token] = useState(takeMailToken);
  const [password, setPassword] = useState('');
  const title = isFirst ? t.mails.setTitle : t.mails.resetTitle;
  if (token === null) return <Incomplete title={title} />;
  const send = () => publicPost<void>('/auth/password/reset', { token, new_password: password });
  return (
    <MailForm title={title} submit={t.mails.resetSubmit} done={t.mails.resetDone} isReady={password.length >= 8} send={send}>
      <Field
        label={t.mails.newPassword}
        hint={t.mails.newPasswordHint}
        type="password"
        value={password}
        onChange={setPassword}
        autoComplete="new-password"
        autoFocus
      />
    </MailForm>
  );
}

/** Where the mail about a new address leads. A press is asked for, since mail scanners open links. */
export function ConfirmEmail() {
  const [token] = useState(takeMailToken);
  const { confirmTitle, confirmText, confirmSubmit, confirmDone } = t.mails;
  if (token === null) return <Incomplete title={confirmTitle} />;
  return (
    <MailForm
      title={confirmTitle}
      intro={confirmText}
      submit={confirmSubmit}
      done={confirmDone}
      isReady
      send={() => publicPost('/auth/email/confirm', { token })}
    />
  );
}

/** Where an invitation leads: who accepts it is signed in at once. */
export function AcceptInvitation() {
  const [token] = useState(takeMailToken);
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const { inviteTitle, inviteText, inviteSubmit } = t.mails;
  if (token === null) return <Incomplete title={inviteTitle} />;
  const send = async () => {
    const tokens = await publicPost<Tokens>('/invitations/accept', { token, email, full_name: name, password });
    session.signedIn(tokens);
    // The path names this page; what comes next is the console.
    location.replace('/console');
  };
  const isReady = email !== '' && name !== '' && password.length >= 8;
  return (
    <MailForm title={inviteTitle} intro={inviteText} submit={inviteSubmit} done="" isReady={isReady} send={send}>
      <Field label={t.signIn.email} type="email" value={email} onChange={setEmail} autoComplete="username" autoFocus />
      <Field label={t.mails.fullName} value={name} onChange={setName} autoComplete="name" />
      <Field
        label={t.mails.newPassword}
        hint={t.mails.newPasswordHint}
        type="password"
        value={password}
        onChange={setPassword}
        autoComplete="new-password"
      />
    </MailForm>
  );
}

function Incomplete({ title }: { readonly title: string }) {
  return (
    <CardPage title={title}>
      <Notice tone="warn" text={t.mails.noToken} />
      <a href="/console">{t.mails.toSignIn}</a>
    </CardPage>
  );
}
