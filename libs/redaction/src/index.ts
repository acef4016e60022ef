export { canonicalJson } from './canonical-json';
export { Redacted, redactBody } from './redacted';
export { redactContent, redactionMark } from './scrub';
