/**
 * Schemes that lead a browser, or the operating system, somewhere else than to an application that has registered them. No client, whoever registers it, can
 * use them in its redirect URIs.
 */
const taken: ReadonlySet<string> = new Set(
  [
    // URL Standard, special schemes, and Fetch Standard, fetch schemes: the browser opens these itself.
    'about blob data file ftp http https ws wss',
    // HTML Standard, safelisted schemes of registerProtocolHandler: any web page can handle them, and each has a meaning of its own.
    'bitcoin ftps geo im irc ircs magnet mailto matrix mms news nntp openpgp4fpr sftp sip sms smsto ssh tel urn webcal wtai xmpp',
    // Chromium, external_protocol_handler.cc, kDeniedSchemes: never handed to the system.
    'afp disk disks hcp ie.http javascript mk ms-help res shell vbscript view-source vnd.ms.radio',
    // Pages, extensions and storage of browsers, and schemes that open an address in another browser.
    'brave chrome devtools edge filesystem firefox googlechrome googlechromes isolated-app jar microsoft-edge opera resource vivaldi wyciwyg',
    'feed ipfs ipns pcast safari-extension safari-web-extension x-safari-http x-safari-https',
    // Android: an address that names any activity, file or package.
    'android-app content intent market',
    // macOS and iOS: scripts, settings, calls, and the installation of apps.
    'app-prefs app-settings applescript facetime facetime-audio help itms itms-apps itms-appss itms-services prefs shortcuts x-help-action x-man-page',
    // Windows: handlers that run or fetch the contents of the address.
    'its mhtml search search-ms',
    // Protocols of the IANA registry that systems hand to a terminal, file manager or mail program.
    'cid git gopher imap ldap ldaps mid nfs pop rdp rlogin rsync rtsp smb snews svn telnet tn3270 vnc',
    // A forgotten `http://`.
    'localhost',
  ].flatMap((names) => names.split(' ')),
);

/** Families: of Chromium, of Firefox, of web pages (HTML Standard, `web+`), of extensions (`ext+`), of Windows, of macOS. */
const takenFamilies = ['chrome-', 'moz-', 'web+', 'ext+', 'ms-', 'x-apple'];

// A single letter is a drive of Windows (Chromium blocks it too).
const form = /^[a-z][a-z0-9+.-]+$/;

/**
 * Whether a scheme (lower case, without colon) can be an application's own ("private-use", RFC 8252 §7.1): with a dot, as the RFC advises, or without, as
 * editors have them (`cursor`, `vscode`, `windsurf`, `jetbrains`).
 */
export function isPrivateScheme(scheme: string): boolean {
  return form.test(scheme) && !taken.has(scheme) && !takenFamilies.some((family) => scheme.startsWith(family));
}
