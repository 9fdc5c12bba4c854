import { useQueryClient } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { useMe } from '../app/access.ts';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Notice } from '../ui/notice.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { accountTexts as a } from './messages.ts';
import { SecondFactor } from './second-factor.tsx';
import { Sessions } from './sessions.tsx';

/** Who one is, how one signs in, and where. */
export function AccountPage() {
  const { user, role, locale, pending_email, impersonation_id } = useMe();
  // Whoever acts as somebody else has no business with their sign-in.
  const isOwn = impersonation_id === null;
  return (
    <Page title={a.title}>
      <Section title={a.profile} actions={isOwn && <EditProfile />}>
        {pending_email !== null && <Notice tone="plain" text={a.pending(pending_email)} />}
        <Facts
          facts={[
            [a.fullName, user?.full_name],
            [a.email, user?.email],
            [a.role, role],
            [a.locale, locale],
          ]}
        />
      </Section>
      {isOwn && (
        <>
          <Section title={a.password} actions={<ChangePassword />}>
            <p className="hint">{t.mails.newPasswordHint}</p>
          </Section>
          <SecondFactor />
          <Sessions />
        </>
      )}
    </Page>
  );
}

function EditProfile() {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={a.edit}
      title={a.editTitle}
      submit={t.actions.save}
      fields={[
        { name: 'full_name', label: a.fullName, autoComplete: 'name' },
        { kind: 'email', name: 'email', label: a.email, hint: a.emailHint, autoComplete: 'email' },
        { name: 'locale', label: a.locale },
      ]}
      read={async () => {
        const me = await api.getMe({});
        return {
          values: { full_name: me.user?.full_name ?? '', email: me.user?.email ?? '', locale: me.locale ?? '' },
          etag: etagOf(me),
        };
      }}
      toContent={({ full_name = '', email = '', locale = '' }): Views['MeUpdate'] | null =>
        email.trim() === '' ? null : { full_name: full_name.trim() || null, locale: locale.trim() || null, email: email.trim() }
      }
      write={async (content, options) => {
        const { email, ...rest } = content;
        const known = (await queries.ensureQueryData<Views['MeView']>({ queryKey: ['me'] })).user?.email;
        // An address that stays is not sent: each mention of one asks for a step-up and sends a mail.
        return api.updateMe(email === known ? rest : content, options);
      }}
      onDone={() => void queries.invalidateQueries({ queryKey: ['me'] })}
    />
  );
}

function ChangePassword() {
  const queries = useQueryClient();
  return (
    <FormDialog
      label={a.changePassword}
      title={a.changePasswordTitle}
      submit={t.actions.save}
      intro={<p>{a.passwordText}</p>}
      fields={[
        { kind: 'password', name: 'current_password', label: a.currentPassword, autoComplete: 'current-password' },
        { kind: 'password', name: 'new_password', label: a.newPassword, hint: t.mails.newPasswordHint, autoComplete: 'new-password' },
      ]}
      toContent={({ current_password = '', new_password = '' }) =>
        current_password === '' || new_password.length < 8 ? null : { current_password, new_password }
      }
      write={(content) => api.changePassword(content)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['sessions'] })}
    />
  );
}
