import path from 'node:path';
import { z } from 'zod';

const absolutePaths = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(':')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .pipe(z.array(z.string().startsWith('/', 'must be absolute paths, separated by colons')));
const imagesOfThisCheckout = path.resolve(__dirname, '../../../images');

/** Settings of run-specs. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_IMAGES_DIR: z.string().min(1).default(imagesOfThisCheckout),
    FLUIDBOX_PRICE_TABLE_FILE: z.string().min(1).optional(),
    FLUIDBOX_LOCAL_SOURCES: absolutePaths,
  })
  .transform((environment) => ({
    imagesDir: environment.FLUIDBOX_IMAGES_DIR,
    priceTableFile: environment.FLUIDBOX_PRICE_TABLE_FILE,
    localSources: environment.FLUIDBOX_LOCAL_SOURCES,
  }));
export type Config = z.output<typeof config>;
