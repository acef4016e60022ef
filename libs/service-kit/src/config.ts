import { readFileSync } from 'node:fs';
import path from 'node:path';
import { environmentVariables, ServiceSecrets } from '@fluidbox/contracts';
import { readSecretFile } from '@fluidbox/seal';
import { z } from 'zod';
import type { Environment } from './api';

/** Wrong settings: the message names every wrong variable and is meant for a person. */
export class ConfigError extends Error {}

/**
 * Parses a service's settings. `X_FILE` stands for a variable `X` that is not set itself: its value is the content of that file.
 */
export function parseConfig<C>(service: string, schema: z.ZodType<C>, environment: Environment): C {
  const parsed = schema.safeParse(withFiles(schema, environment));
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0] ?? 'environment');
    const meaning = (environmentVariables as Readonly<Record<string, string>>)[name];
    return `  ${name}: ${issue.message}${meaning === undefined ? '' : ` (${meaning})`}`;
  });
  throw new ConfigError(`${service} is not configured:\n${lines.join('\n')}`);
}

function withFiles(schema: z.ZodType, environment: Environment): Environment {
  const values: Record<string, string | undefined> = { ...environment };
  for (const name of variablesOf(schema)) {
    const file = environment[`${name}_FILE`];
    if (values[name] !== undefined || file === undefined) continue;
    try {
      values[name] = readFileSync(file, 'utf8').trim();
    } catch (error) {
      throw new ConfigError(`${name}_FILE: ${file} cannot be read: ${(error as Error).message}`);
    }
  }
  return values;
}

const variablesOf = (schema: z.core.$ZodType): readonly string[] => {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  return schema instanceof z.ZodPipe ? variablesOf(schema.def.in) : [];
};

/** The secrets of one service, from the file it was given alone or from its file in the folder of all-in-one. */
export function readSecrets(service: string, environment: Environment): ServiceSecrets {
  const { FLUIDBOX_SECRETS_FILE: own, FLUIDBOX_SECRETS_DIR: folder } = environment;
  const file = own ?? (folder === undefined ? undefined : path.join(folder, `${service}.json`));
  if (file === undefined) {
    throw new ConfigError(`${service}: set FLUIDBOX_SECRETS_FILE (${environmentVariables.FLUIDBOX_SECRETS_FILE}) or FLUIDBOX_SECRETS_DIR`);
  }
  const parsed = ServiceSecrets.safeParse(parseJson(readSecretFile(file, `secrets of ${service}`), file));
  if (parsed.success) return parsed.data;
  throw new ConfigError(`${file}: ${parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')}`);
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ConfigError(`${file}: is not JSON`);
  }
}
