import type { z } from 'zod';
import type { ServiceName } from '../deployment';
import { OrgId, RunId } from '../ids';
import { commandSubject } from '../subjects';

export const command = <Q extends z.ZodType, R extends z.ZodType>(service: ServiceName, name: string, request: Q, reply: R) =>
  ({ service, name, subject: commandSubject(service, name), request, reply }) as const;

export const run = { run_id: RunId, org: OrgId };
