import type { BytePath } from '../../domain/tree';

export const bytesOfPath = (path: BytePath): Buffer => Buffer.from(path, 'latin1');
export const pathOfBytes = (bytes: Buffer): BytePath => bytes.toString('latin1');
/** As text for people; bytes that are no UTF-8 become marks. */
export const displayPath = (path: BytePath): string => bytesOfPath(path).toString('utf8');
export const isUtf8Path = (path: BytePath): boolean => bytesOfPath(path).equals(Buffer.from(displayPath(path), 'utf8'));
