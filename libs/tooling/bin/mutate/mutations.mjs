/**
 * Guards and the tests that must notice when they are gone. A mutation may have several mutants; each is judged alone. `find` must stand
 * in the file exactly once. `red` and `twins` are parts of test titles; `prepare` are scripts that build what the tests run.
 */

const claudeBundle = 'images/claude-runner/bundle.mjs';
const system = 'tests/system/jest.config.cjs';

const runnerAsks = {
  file: 'images/claude-runner/src/sandbox.test.ts',
  red: ['asks for every call exactly once, sub-agents, parallel and background calls included'],
  twins: ['survives a model that is overloaded once'],
};
const codexAsks = {
  file: 'images/codex-runner/src/sandbox.test.ts',
  red: ['asks for every command and patch exactly once, under the id of the model, parallel calls included'],
  twins: ['fails with what the provider said, in its words'],
};
const onlyItsAudience = {
  file: 'services/runner-gateway/src/runner-plane.test.ts',
  twins: ['passes the decision on, with the request as it was digested'],
};

const verifier = { file: 'libs/verifier/src/verify-bundle.test.ts', twins: ['of a finished run is verified, with what it left'] };

export const mutations = {
  interception: {
    promise: 'every tool call of the agent program is asked for, and runs only as decided',
    mutants: [
      {
        what: 'both nets that make the program ask (hook and permission rule) are cut',
        patches: [
          {
            file: 'images/claude-runner/src/claude-options.ts',
            find: "PreToolUse: [{ onFailure: 'block', hooks: [askForEverything] }],",
            replace: '',
          },
          { file: 'images/claude-runner/src/claude-options.ts', find: "permissions: { ask: ['*'] }, ", replace: '' },
        ],
        tests: [runnerAsks],
      },
      {
        what: 'the runner answers its program by itself instead of asking the gate',
        patches: [
          {
            file: 'images/claude-runner/src/run-claude.ts',
            find: 'await client.permission({ tool_call_id: toolUseID, ...call }, AbortSignal.any([signal, quiesce.signal]));',
            replace: "{ decision: 'allow' };",
          },
        ],
        prepare: [claudeBundle],
        tests: [
          runnerAsks,
          {
            config: system,
            file: 'tests/system/interception.test.ts',
            red: ['ran the allowed command and never the denied one', 'ran the sub-agent’s allowed command and never its denied one'],
            twins: [],
          },
        ],
      },
      {
        what: 'Codex runs what the runner answers by itself instead of asking the gate',
        patches: [
          {
            file: 'images/codex-runner/src/ask-the-gate.ts',
            find: 'await client.permission({ tool_call_id: callId, ...call }, quiesce.signal);',
            replace: "{ decision: 'allow' };",
          },
        ],
        tests: [codexAsks],
      },
      {
        what: 'Codex may give a command a terminal, into which it types unasked',
        patches: [{ file: 'images/codex-runner/src/codex-settings.ts', find: "  'unified_exec_tty',\n", replace: '' }],
        tests: [{ ...codexAsks, red: ['lets write_stdin read what a running command has said, and never type into a shell'] }],
      },
    ],
  },
  coverage: {
    promise: 'a result that comes back for a call which nobody decided is a gap',
    mutants: [
      {
        what: 'the facade never reports a gap',
        patches: [
          {
            file: 'services/llm-facade/src/domain/coverage.ts',
            find: "else gaps.push({ toolCallId, tool, class: 'uncovered', reportOnly: rules.mode === 'report' });",
            replace: '',
          },
        ],
        tests: [
          {
            file: 'services/llm-facade/src/domain/coverage.test.ts',
            red: ['is a gap when a result comes back and nobody decided', 'is a gap when the gate was asked and the result did not wait'],
            twins: ['is decided when the gate decided it, whichever event came first'],
          },
        ],
      },
      {
        what: 'a decision counts whatever input it was about',
        patches: [
          {
            file: 'libs/run-stream/src/queries.ts',
            find: 'return judged !== undefined && (judged === digest || inputVariants[field]?.includes(judged) === true);',
            replace: 'return judged === digest || judged !== digest;',
          },
        ],
        tests: [
          {
            file: 'services/llm-facade/src/domain/coverage.test.ts',
            red: ['is a gap when the gate was asked about another input than the model wrote'],
            twins: ['is decided when the gate decided it, whichever event came first'],
          },
          {
            file: 'libs/run-stream/src/evolve.test.ts',
            red: ['counts no decision about another input'],
            twins: ['counts an approved edit as the decision on the call that was asked for'],
          },
        ],
      },
      {
        what: 'a second call hides behind the id of a first',
        patches: [
          {
            file: 'services/llm-facade/src/domain/settlement.ts',
            find: 'if (first !== undefined) doubled.push(call);',
            replace: '',
          },
        ],
        tests: [
          {
            file: 'services/llm-facade/src/domain/budget.test.ts',
            red: ['names a second call under the id of a first as a gap'],
            twins: ['books usage, cost and calls in one group'],
          },
        ],
      },
      {
        what: 'an answer that was lost with its facade is forgotten',
        patches: [
          {
            file: 'libs/run-stream/src/evolve.ts',
            find: 'if (data.lost === true) state.lostAnswers.add(data.reservation_id);',
            replace: '',
          },
        ],
        tests: [
          {
            file: 'libs/run-stream/src/evolve.test.ts',
            red: ['says unknown when an answer was lost with its facade'],
            twins: ['says full, unknown and partial coverage'],
          },
        ],
      },
    ],
  },
  'wrong-audience': {
    promise: 'a token opens only the routes of its own audience',
    mutants: [
      {
        what: 'the verifier of run tokens does not look at the audience',
        patches: [
          {
            file: 'libs/seal/src/run-tokens.ts',
            find: "return claims.aud === audience ? { ok: true, claims } : { ok: false, failure: 'wrong_audience' };",
            replace: 'return { ok: true, claims };',
          },
        ],
        tests: [
          { ...onlyItsAudience, red: ['only the audience tool to POST permission', 'only the audience control to POST heartbeat'] },
          {
            file: 'libs/seal/src/tokens.test.ts',
            red: ['refuses another audience and a token past its end'],
            twins: ['gives the claims of a good token, the first time and again'],
          },
        ],
      },
      {
        what: 'the guard of the result route admits another audience',
        patches: [
          {
            file: 'services/runner-gateway/src/adapters/run-token.guard.ts',
            find: "protected readonly audience: Audience = 'control';",
            replace: "protected readonly audience: Audience = 'tool';",
          },
        ],
        tests: [{ ...onlyItsAudience, red: ['only the audience control to POST result'] }],
      },
    ],
  },
  redaction: {
    promise: 'nothing reaches the ledger before secrets are marked in it',
    mutants: [
      {
        what: 'the only door into the ledger marks nothing',
        patches: [
          {
            file: 'libs/redaction/src/redacted.ts',
            find: 'const redacted = redactContent(body) as LedgerBody',
            replace: 'const redacted = body',
          },
        ],
        tests: [
          {
            file: 'libs/redaction/src/scrub.test.ts',
            red: ['marks a secret and never the evidence beside it'],
            twins: ['stores canonical bytes, unchanged when nothing is secret'],
          },
        ],
      },
      {
        what: 'content is sealed as it came',
        patches: [
          { file: 'libs/event-store/src/prepare.ts', find: 'const scrubbed = redactContent(value);', replace: 'const scrubbed = value;' },
        ],
        tests: [
          {
            file: 'libs/event-store/src/prepare.test.ts',
            red: ['scrubs a secret from content before it is sealed and digested'],
            twins: ['seals content for its own event only'],
          },
        ],
      },
    ],
  },
  record: {
    promise: 'a changed record is refused, and what is said to be erased is',
    mutants: [
      {
        what: 'the verifier takes any signature of the right length',
        patches: [
          {
            file: 'libs/verifier/src/verify-bundle.ts',
            find: "if (bytes.length !== 64 || !verify(null, signed, createPublicKey({ key: { ...key }, format: 'jwk' }), bytes))",
            replace: 'if (bytes.length !== 64 || createPublicKey === null || verify === null || signed === null || key === null)',
          },
        ],
        tests: [
          { ...verifier, red: ['with any byte is noticed', 'with the algorithm, the key or the spelling of a signature is refused'] },
        ],
      },
      {
        what: 'the verifier takes any spelling of a line',
        patches: [
          {
            file: 'libs/verifier/src/verify-bundle.ts',
            find: 'if (strict && canonical(value) !== raw)',
            replace: 'if (strict && canonical(value) === null)',
          },
        ],
        tests: [
          {
            ...verifier,
            red: ['with what JSON allows and the canonical form does not is refused'],
          },
        ],
      },
      {
        what: 'projector signs whatever the row of a head says',
        patches: [
          {
            file: 'services/projector/src/app/sign-checkpoint.ts',
            find: '      await checkHead(ports, standing, short.get(streamNameOf(standing.ref)));\n',
            replace: '',
          },
        ],
        tests: [
          {
            file: 'services/projector/src/projector.test.ts',
            red: ['signs no head that the stored events do not lead to, whoever wrote it'],
            twins: ['signs the head of a run at its end, once, over the chain that anybody can check'],
          },
        ],
      },
      {
        what: 'the keys of an erased run stay',
        patches: [{ file: 'services/runs/src/app/erase-content.ts', find: '  await ports.erasures.destroy(erasure);\n', replace: '' }],
        tests: [
          {
            file: 'services/runs/src/adapters/erasure-table.test.ts',
            red: ['destroys keys, salt, sealed rows and files of one run', 'after its retention takes each class in its time'],
            twins: ['is refused for a run that lives'],
          },
        ],
      },
    ],
  },
  fence: {
    promise: 'what an older sandbox of a run still sends changes nothing',
    mutants: [
      {
        what: 'the append statements do not compare the generation',
        patches: [
          {
            file: 'libs/event-store/migrations/0008_single_append.sql',
            find: "when l.generation <> l.fence then 'stale_lease'",
            replace: "when false then 'stale_lease'",
          },
          {
            file: 'libs/event-store/src/postgres/single.ts',
            find: ' and ($5::integer is null or generation = $5)',
            replace: ' and ($5::integer is null or true)',
          },
          {
            file: 'libs/event-store/src/postgres/few-each-statement.ts',
            find: ' and (u.fence is null or h.generation = u.fence)',
            replace: ' and (u.fence is null or true)',
          },
        ],
        tests: [
          {
            file: 'libs/event-store/src/postgres/postgres-store.test.ts',
            red: [
              'fences facts by generation, and moves the generation',
              'stores up to 1 events for each of many streams at once, with what is sealed of them, and refuses those alone that it must refuse',
            ],
            twins: [],
          },
        ],
      },
      {
        what: 'the lease of a run does not compare the generation',
        patches: [
          {
            file: 'libs/run-stream/src/queries.ts',
            find: "if (generation !== run.generation) return 'stale_lease';",
            replace: '',
          },
        ],
        tests: [{ ...onlyItsAudience, red: ['in the order signature, audience, path, generation, lease'] }],
      },
    ],
  },
};
