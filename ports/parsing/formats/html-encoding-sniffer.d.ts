/** The package has no types of its own: what is used of it. */
declare module 'html-encoding-sniffer' {
  interface SniffOptions {
    readonly xml?: boolean;
    /** Of Content-Type. */
    readonly transportLayerEncodingLabel?: string;
    /** Given where nothing tells the encoding. */
    readonly defaultEncoding?: string;
    /** For HTML alone. */
    readonly maxPrescanBytes?: number;
  }

  /** The name of an encoding, as WHATWG Encoding spells it. */
  export default function sniffEncoding(bytes: Uint8Array, options: SniffOptions): string;
}
