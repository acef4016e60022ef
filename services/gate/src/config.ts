import { z } from 'zod';

/** This service has no settings of its own. */
export const config = z.object({}).transform(() => ({}));
export type Config = z.output<typeof config>;
