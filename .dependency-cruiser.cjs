// Who may import whom. The picture of it stands in tests/architecture/README.md; every rule has a bad fixture under
// tests/architecture/fixtures, and a test that the rule catches it.

/** What each library may import of the others; `zod` and npm packages are another matter. */
const layers = {
  contracts: [],
  'sandbox-kit': [],
  tooling: [],
  // Read and run by people who trust nothing of ours.
  verifier: [],
  redaction: ['contracts'],
  'run-stream': ['contracts'],
  policy: ['contracts', 'redaction'],
  seal: ['contracts', 'redaction'],
  bus: ['contracts'],
  'event-store': ['contracts', 'redaction', 'run-stream', 'seal'],
  'service-kit': ['bus', 'contracts', 'event-store', 'redaction', 'run-stream', 'seal'],
  testing: ['contracts', 'event-store', 'tooling'],
  // policy: files are validated, tested and explained without a stack.
  cli: ['contracts', 'event-store', 'policy', 'run-stream', 'testing', 'tooling', 'verifier'],
};

/** Tests, and what only they use. */
const testCode = '\\.test\\.ts$|\\.fixture\\.ts$|/(testing|fixtures|bench)/|^tests/';
const npm = (...names) => names.map((name) => `(^|/)node_modules/${name}/|^${name}(/|$)`).join('|');
const shell = npm('@nestjs', 'fastify', 'pg', '@nats-io', 'undici', 'pino');
// The seed policies are files, read once when the package is loaded.
const pure = '^services/[^/]+/src/domain/|^libs/(run-stream|redaction)/src/|^libs/policy/src/(?!seeds/)';

const layerRule = ([name, below]) => ({
  name: `layer-${name}`,
  comment: `libs/${name} may import ${below.join(', ') || 'no other library'}`,
  severity: 'error',
  from: { path: `^libs/${name}/src/`, pathNot: testCode },
  to: { path: '^libs/', pathNot: `^libs/(${[name, ...below].join('|')})/` },
});

const forbidden = [
  {
    name: 'service-imports-no-service',
    comment: 'Services talk over NATS. Only all-in-one imports them, and of each only its index.',
    severity: 'error',
    from: { path: '^services/(?!all-in-one/)([^/]+)/' },
    to: { path: '^services/', pathNot: '^services/$1/' },
  },
  {
    name: 'all-in-one-imports-definitions-only',
    comment: 'all-in-one starts services; it knows nothing of what is inside them.',
    severity: 'error',
    from: { path: '^services/all-in-one/' },
    to: { path: '^services/', pathNot: '^services/all-in-one/|^services/[^/]+/src/index\\.ts$' },
  },
  {
    name: 'libraries-know-no-service',
    comment: 'Libraries stand below services, images and deployments; the command line may start the embedded deployment.',
    severity: 'error',
    from: { path: '^libs/' },
    to: { path: '^(services|images|deploy)/', pathNot: '^deploy/embedded/' },
  },
  {
    name: 'only-the-command-line-deploys',
    comment: 'Only libs/cli (and tests) may import deploy/embedded.',
    severity: 'error',
    from: { path: '^(libs|services|images)/', pathNot: '^libs/cli/' },
    to: { path: '^deploy/' },
  },
  {
    name: 'runners-are-foreign',
    comment: 'What runs in a sandbox knows the wire and nothing of the services: no ledger, no keys, no bus.',
    severity: 'error',
    from: { path: '^images/', pathNot: testCode },
    to: { path: '^(libs|services|deploy)/', pathNot: '^libs/(contracts|sandbox-kit)/' },
  },
  {
    name: 'domain-is-pure',
    comment: 'Decisions import no framework, no database, no bus, no HTTP.',
    severity: 'error',
    from: { path: pure, pathNot: testCode },
    to: { path: shell },
  },
  {
    name: 'domain-does-no-io',
    comment: 'Decisions read no file, open no connection, start no process and have no clock or randomness.',
    severity: 'error',
    from: { path: pure, pathNot: testCode },
    to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|path)$' },
  },
  {
    name: 'domain-stands-alone',
    comment: 'Decisions are called by use cases; they call nothing of theirs, and nothing that could reach the outside.',
    severity: 'error',
    from: { path: '^services/([^/]+)/src/domain/', pathNot: testCode },
    to: { path: '^services/$1/src/(?!domain/)|^libs/(bus|event-store|service-kit|testing)/' },
  },
  {
    name: 'app-knows-no-transport',
    comment: 'Use cases take ports; only adapters and the module touch Nest, pg, NATS and HTTP.',
    severity: 'error',
    from: { path: '^services/[^/]+/src/app/', pathNot: testCode },
    to: { path: shell },
  },
  {
    name: 'app-knows-no-adapter',
    comment: 'Use cases do not import the adapters that call or serve them.',
    severity: 'error',
    from: { path: '^services/([^/]+)/src/app/', pathNot: testCode },
    to: { path: '^services/$1/src/adapters/' },
  },
  {
    name: 'nats-only-in-bus',
    comment: 'libs/bus is NATS for everybody.',
    severity: 'error',
    from: { path: '^(libs|services|images|deploy)/', pathNot: `^libs/bus/|${testCode}` },
    to: { path: npm('@nats-io') },
  },
  {
    name: 'contracts-stand-on-zod',
    comment: 'Whoever wants to speak our protocols needs the contracts and zod, nothing else.',
    severity: 'error',
    from: { path: '^libs/contracts/src/', pathNot: testCode },
    to: { path: '(^|/)node_modules/', pathNot: npm('zod') },
  },
  {
    name: 'packages-have-one-door',
    comment: 'Import a package by its name; its inside may change.',
    severity: 'error',
    from: { path: '^((?:libs|services|images|deploy)/[^/]+)/' },
    to: {
      path: '^(libs|services|images|deploy)/',
      pathNot:
        '^$1/|/src/index\\.ts$|^libs/testing/src/model/index\\.ts$|^libs/policy/src/seeds/index\\.ts$|^libs/tooling/|/src/bundle-runner\\.mjs$|/src/testing/index\\.ts$|\\.json$',
    },
  },
  {
    name: 'tests-help-tests-only',
    comment: 'libs/testing runs in tests; the demo alone uses its scripted model.',
    severity: 'error',
    from: { path: '^(libs|services|images|deploy)/', pathNot: `^libs/testing/|${testCode}` },
    to: { path: '^libs/testing/', pathNot: '^libs/testing/src/model/index\\.ts$' },
  },
  {
    name: 'no-cycle',
    comment: 'Two files that import each other are one thought in two places, or two thoughts in one.',
    severity: 'error',
    from: { pathNot: testCode },
    // A type may be named both ways; libs/testing makes databases with the schema of the event store, whose tests use libs/testing.
    to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
  },
  {
    name: 'resolvable',
    comment: 'An import that resolves to nothing is seen by no other rule.',
    severity: 'error',
    from: {},
    to: { couldNotResolve: true, pathNot: '/dist/' },
  },
  ...Object.entries(layers).map(layerRule),
];

module.exports = {
  forbidden,
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/|^tests/architecture/fixtures/|\\.fluidbox/' },
    tsPreCompilationDeps: true,
    // The `source` condition shows the file that is imported; without exportsFields imports by package name would pass unseen.
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'import', 'require', 'node', 'default', 'types'],
      mainFields: ['main', 'types'],
      extensions: ['.ts', '.mjs', '.cjs', '.js', '.json', '.d.ts'],
    },
    moduleSystems: ['cjs', 'es6'],
  },
};
