import { z } from 'zod';

/** An id that we made and a list shows; in a path it is taken whole. */
export const listedId = z.uuid('must be an id as the list shows it, a UUID');
