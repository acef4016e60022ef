// A third-party runner in one file, without runner-lib: it sends exactly the requests its task lists, honest or not, and writes what it
// got to /workspace/answers.json, which comes back as the run's diff. Used to prove what the runner plane accepts from whoever speaks to it.
const fs = require('node:fs');
const http = require('node:http');
const { setTimeout: pause } = require('node:timers/promises');

const secrets = JSON.parse(fs.readFileSync(Number(process.env.FLUIDBOX_TOKENS_FD), 'utf8'));
fs.closeSync(Number(process.env.FLUIDBOX_TOKENS_FD));
const id = process.env.FLUIDBOX_SESSION_ID;
const task = JSON.parse(secrets.task ?? process.env.FLUIDBOX_TASK);

const answers = {};
/** `{call of NAME}` in a body is the id of the tool call that the model made in the answer to that step. */
const withCalls = (text) => text.replaceAll(/\{call of ([^}]+)\}/g, (_, name) => /\b(?:toolu_|call_(?!id\b))\w+/.exec(answers[name]?.text ?? '')?.[0] ?? 'no-call');

function send({ as, method = 'POST', path, body, padding = 0, socket = 'control' }) {
  return new Promise((resolve) => {
    // White space in front keeps the JSON valid and makes the body as large as wanted.
    const payload = body === undefined ? undefined : ' '.repeat(padding) + withCalls(typeof body === 'string' ? body : JSON.stringify(body));
    const request = http.request(
      {
        socketPath: `/run/gw/${socket}.sock`,
        method,
        path: path.replaceAll('{id}', id),
        headers: {
          host: 'gateway',
          ...(as === undefined ? {} : { authorization: `Bearer ${secrets[as] ?? as}` }),
          ...(payload === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
        },
      },
      (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, text: text.trim() }));
        response.on('error', (error) => resolve({ error: error.message }));
      },
    );
    request.on('error', (error) => resolve({ error: error.message }));
    request.end(payload);
  });
}

async function main() {
  for (const step of task.steps) {
    if (step.sleepMs !== undefined) await pause(step.sleepMs);
    else if (step.parallel !== undefined) answers[step.name] = await Promise.all(step.parallel.map(send));
    else answers[step.name] = await send(step);
    fs.writeFileSync('/workspace/answers.json', JSON.stringify(answers));
  }
  if (task.end === 'silence') await pause(2 ** 30);
  if (task.end === 'exit') return;
  await send({ as: 'control', path: '/internal/sessions/{id}/result', body: { outcome: task.outcome ?? 'completed' } });
}

// An honest heartbeat, so that a long script is not taken for a dead runner; a silent one has none.
if (task.end !== 'silence') setInterval(() => void send({ as: 'control', path: '/internal/sessions/{id}/heartbeat', body: {} }), 1_000).unref();
main().then(() => process.exit(0));
