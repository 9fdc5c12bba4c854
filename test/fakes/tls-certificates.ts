import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';

/** `valid` for 127.0.0.1; `expired` since 2020; for `elsewhere`.test alone; signed by it`self`. All but the last are of `ca.pem`, whose key nobody keeps. */
export type CertificateName = 'valid' | 'expired' | 'elsewhere' | 'self';

const pem = (name: string) => readFileSync(join(import.meta.dirname, 'tls', `${name}.pem`), 'utf8');

/** Key and certificate of a server. */
export function certificate(name: CertificateName): { readonly key: string; readonly cert: string } {
  return { key: pem(name), cert: pem(name) };
}

/** Has this process trust the test's authority beside its own; gives what takes that back. */
export function trustTestAuthority(): () => void {
  const before = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...before, pem('ca')]);
  return () => tls.setDefaultCACertificates(before);
}
