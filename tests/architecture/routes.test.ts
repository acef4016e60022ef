import { readFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot, sourcesIn } from './sources';

/**
 * Every route, with the guard that says whom it admits, equals routes.json. A controller without a guard, or a route that changes its audience, is
 * seen here and nowhere else: to the framework an open route is as good as any.
 */
type Constructor = new (...given: never[]) => object;
const reflect = Reflect as unknown as { getMetadata(key: string, target: object): unknown };
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'ALL', 'OPTIONS', 'HEAD', 'SEARCH'];
const planes = ['gateway', 'runner-gateway', 'llm-facade'];

const isController = (value: unknown): value is Constructor =>
  typeof value === 'function' && reflect.getMetadata('path', value) !== undefined;
const guardsOf = (target: object): string[] =>
  ((reflect.getMetadata('__guards__', target) ?? []) as readonly { readonly name: string }[]).map(({ name }) => name);

function routesOf(controller: Constructor): string[] {
  const base = String(reflect.getMetadata('path', controller));
  return Object.getOwnPropertyNames(controller.prototype).flatMap((name) => {
    const handler: unknown = Object.getOwnPropertyDescriptor(controller.prototype, name)?.value;
    if (typeof handler !== 'function' || name === 'constructor') return [];
    const route = reflect.getMetadata('path', handler);
    if (route === undefined) return [];
    const guards = [...guardsOf(controller), ...guardsOf(handler)];
    const method = methods[Number(reflect.getMetadata('method', handler))] ?? '?';
    const url = `/${[base, String(route)].join('/')}`.replaceAll(/\/+/g, '/').replace(/(?<=.)\/$/, '');
    return [`${method} ${url} ${guards.length === 0 ? 'UNGUARDED' : guards.join('+')}`];
  });
}

function controllersOf(service: string): Constructor[] {
  const files = sourcesIn(`services/${service}/src`).filter(({ file }) => file.endsWith('.controller.ts'));
  return files.flatMap(({ file }) =>
    Object.values(require(path.join(repositoryRoot, file)) as Record<string, unknown>).filter(isController),
  );
}

const committed = JSON.parse(readFileSync(path.join(__dirname, 'routes.json'), 'utf8')) as Record<string, readonly string[]>;

const audienceOf = (guards: string): string => (guards.split('+').at(-1) ?? '').replace(/Guard$/, '').toLowerCase();

describe('routes', () => {
  it.each(planes)('of %s are guarded as committed', (service) => {
    const routes = controllersOf(service).flatMap(routesOf).sort();
    expect(routes).toEqual(committed[service]);
    expect(routes.filter((route) => route.endsWith('UNGUARDED'))).toEqual([]);
  });

  it('stand in files named for it, in the services that listen', () => {
    const elsewhere = sourcesIn('services').filter(({ file, text }) => {
      const listens = planes.some((plane) => file.startsWith(`services/${plane}/`));
      return /^@Controller\(/m.test(text) && !(listens && file.endsWith('.controller.ts'));
    });
    expect(elsewhere.map(({ file }) => file)).toEqual([]);
  });

  it('are handed to Nest: a controller that no module names would be tested and never served', () => {
    for (const service of planes) {
      const modules = sourcesIn(`services/${service}/src`).filter(({ file }) => file.endsWith('.module.ts'));
      const text = modules.map((module) => module.text).join('\n');
      for (const controller of controllersOf(service))
        expect([controller.name, text.includes(controller.name)]).toEqual([controller.name, true]);
    }
  });

  it('of the public plane stand in the docs of the gateway, each with who may call it', () => {
    const page = readFileSync(path.join(repositoryRoot, 'services/gateway/docs/routes.md'), 'utf8').split('<!-- routes -->')[1] ?? '';
    const said = [...page.matchAll(/^\| `(\w+ \S+)` \| (\w+) \|/gm)].map(([, route, who]) => `${route} ${who}`);
    // The narrowest guard of a route says who: AdminGuard, MemberGuard, OpenGuard.
    const expected = (committed.gateway ?? []).map((line) => line.replace(/\S+$/, (guards) => audienceOf(guards)));
    expect(said.sort()).toEqual(expected.sort());
  });

  it('without a guard are seen', () => {
    const [guarded] = controllersOf('runner-gateway');
    if (guarded === undefined) throw new Error('the runner gateway has no controller');
    // The same class with its guards taken away.
    class Bare extends guarded {}
    const metadata = Reflect as unknown as { defineMetadata(key: string, value: unknown, target: object): void };
    metadata.defineMetadata('__guards__', [], Bare);
    for (const name of Object.getOwnPropertyNames(guarded.prototype)) {
      const member = Object.getOwnPropertyDescriptor(guarded.prototype, name);
      if (name !== 'constructor' && member !== undefined) Object.defineProperty(Bare.prototype, name, member);
    }
    expect(routesOf(Bare).every((route) => route.endsWith('UNGUARDED'))).toBe(true);
    expect(routesOf(guarded).some((route) => route.endsWith('UNGUARDED'))).toBe(false);
  });
});
