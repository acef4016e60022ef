export { canonicalDepthMax, canonicalJson } from './canonical-json';
export { Redacted, redactBody } from './redacted';
export { redactContent, redactionMark, redactText } from './scrub';
