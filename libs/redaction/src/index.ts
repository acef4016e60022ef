export { canonicalJson } from './canonical-json';
export { type Envelope, Redacted, redactBody } from './redacted';
export { redactContent, redactionMark } from './scrub';
