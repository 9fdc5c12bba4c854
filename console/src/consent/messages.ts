/** What the page says on which an application asks for access. */
export const consentTexts = {
  title: (client: string) => `Allow ${client}?`,
  lead: (client: string) => `${client} asks for access to your account.`,
  document: (host: string) => `It presents itself by a document at ${host}.`,
  answersTo: 'The answer goes to',
  who: 'You decide as',
  of: (organization: string) => `of ${organization}`,
  other: 'Use another account',
  scopes: 'It asks for',
  nothingChosen: 'Choose what to allow, or deny.',
  allow: 'Allow',
  deny: 'Deny',
  expires: 'This request ends in',
  incomplete: 'This link is incomplete. Go back to the application and start again.',
  leaving: 'You are being sent back to the application. You can close this window if nothing happens.',
  warnings: {
    loopback_only: 'This application runs on your own computer. Allow it only if you have just started it yourself.',
    private_scheme:
      'The answer goes to an application on this device, and any application can claim this address. Allow access only if you have just started connecting yourself.',
    self_registered: 'This application registered itself; its identity has not been verified.',
  } as Readonly<Record<string, string>>,
} as const;
