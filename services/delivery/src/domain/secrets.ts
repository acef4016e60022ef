/** What is sealed of a webhook. `old` signs beside `secret` until it is over, so that a receiver can change over without missing anything. */
export interface WebhookSecrets {
  readonly url: string;
  readonly secret: string;
  readonly old: { readonly secret: string; readonly until: number } | null;
}

export const validSecrets = ({ secret, old }: WebhookSecrets, now: number): readonly string[] =>
  old !== null && now < old.until ? [secret, old.secret] : [secret];

/** A second rotation within the overlap ends the oldest one: at most two are ever valid. */
export const rotated = (secrets: WebhookSecrets, fresh: string, now: number, overlapMs: number): WebhookSecrets => ({
  url: secrets.url,
  secret: fresh,
  old: { secret: secrets.secret, until: now + overlapMs },
});
