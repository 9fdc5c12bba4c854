import { createPrivateKey } from 'node:crypto';

/** The credentials that sign the tokens of a GitHub App. */
export interface AppCredentials {
  /** The App's number or client id. */
  readonly appId: string;
  /** RSA, PEM: PKCS#1 as GitHub issues it, or PKCS#8. */
  readonly privateKey: string;
}

/** Environment files hold one line per variable: in them the line ends of a PEM are written `\n`. */
export function pemOf(text: string): string {
  return text.includes('\n') ? text : text.replaceAll('\\n', '\n');
}

/** Whether the text is a private RSA key, of 2048 bits or more, that can sign for an App. */
export function isAppKey(pem: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pemOf(pem));
    return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2_048;
  } catch {
    return false;
  }
}
