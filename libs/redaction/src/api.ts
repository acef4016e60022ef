/**
 * The only door into the ledger. `Redacted` is a class with a private field, so nothing but this package can make one
 * (a branded object type does not survive spread or assign).
 *
 * redactBody(body: LedgerBody): Redacted   canonical (RFC 8785) bytes of the body with every secret shape replaced by a mark
 * redactContent(value: unknown): unknown   the same scrubbing for content, before it is sealed
 * redactText(text: string): string         for loggers
 * redactionMark: string                    what stands in place of a secret; no policy allow matches it
 * canonicalJson(value: unknown): string    RFC 8785
 *
 * Redacted: { bytes(): Buffer; digest(): Buffer (SHA-256 of bytes); body(): LedgerBody }
 */
export {};
