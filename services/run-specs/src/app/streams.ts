import type { StreamRef } from '@fluidbox/contracts';
import { uuidV5 } from '@fluidbox/seal';

/** Derived from the name, so that two creations of one name meet in one stream. */
export const agentStream = (org: string, name: string): StreamRef => ({ category: 'agent', id: uuidV5(org, 'agent', name), org });
export const policyStream = (org: string, name: string): StreamRef => ({ category: 'policy', id: uuidV5(org, 'policy', name), org });
