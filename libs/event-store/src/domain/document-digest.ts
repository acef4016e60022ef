import { hash } from 'node:crypto';

export const documentDigest = (bytes: Buffer): string => `sha256:${hash('sha256', bytes, 'hex')}`;
