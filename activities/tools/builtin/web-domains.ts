/** Whether a host is within the domains that a tool allows, subdomains included; without a list, all hosts are allowed except the denied ones. */
export function isAllowedDomain(hostname: string, allow: readonly string[], deny: readonly string[]): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '');
  const isWithin = (domain: string) => {
    const name = domain.toLowerCase().replace(/\.$/, '');
    return host === name || host.endsWith(`.${name}`);
  };
  if (deny.some(isWithin)) return false;
  return allow.length === 0 || allow.some(isWithin);
}
