/**
 * What we promise, one line each. A test cites the id in its title (`[DEMO-1] …`); tests/architecture checks that every promise is cited
 * by at least one test and that no test cites a promise that does not stand here.
 */
export const requirements = {
  'DEMO-1': 'one command runs a governed run of the real Claude Agent SDK and ends 0 with full coverage',
  'DEMO-2': 'the counts that the demo prints equal those computed from the events of the public API',
  'DEMO-3': 'the original repository is byte-identical afterwards; the diff applies to it and its tests then pass',
  'STACK-1': 'the same run works with every service as its own process',
  'STACK-2': 'a second `up` on the folder says who holds it',
  'GATE-1': 'a denied command never executes, an allowed one does',
  'GATE-2': 'the same holds for the calls of a sub-agent',
  'GATE-3': 'a retried permission call gets the same answer and stores nothing new',
  'GATE-4': 'a reused call id with another input is a protocol violation and the first answer stays',
  'APPROVAL-1': 'a waiting call runs only after a person approved it; a denial reaches the agent',
  'APPROVAL-2': 'a restart while a person thinks loses nothing: one approval, one answer',
  'APPROVAL-3': 'an approval that expired is refused even if nobody swept it yet',
  'APPROVAL-4': 'an edited input runs instead of the asked one, and an edit that policy denies stays pending',
  'BUDGET-1': 'a cost budget stops spend before it happens and ends the run budget_exceeded',
  'BUDGET-2': 'the tool-call budget cannot be overshot by parallel calls',
  'RUNNER-1': 'a token of another audience is refused byte-exactly with {"error":"wrong_audience"}',
  'RUNNER-2': 'a runner cannot forge events, reach another run or set its own outcome',
  'RUNNER-3': 'a result is durable before it is acknowledged, and a second one changes nothing',
  'RUNNER-4': 'a silent runner is ended and its run fails truthfully',
  'SANDBOX-1': 'no route out of the sandbox, no host file, no credential in it',
  'SANDBOX-2': 'secrets of the services never reach a sandbox environment',
  'SANDBOX-3': 'a hostile repository runs nothing before the gate is asked',
  'WORKSPACE-1': 'an archive that escapes its folder is refused as a whole',
  'WORKSPACE-2': 'nothing that the agent planted runs on the control plane when the diff is made',
  'RECOVERY-1': 'kill -9 of any one process at any moment: the run goes on or ends truthfully, without a gap and without a second sandbox',
  'RECOVERY-2': 'Postgres or NATS restarted under a run: it waits and goes on',
  'API-1': 'bad input is a 4xx that names the field, and nothing is stored',
  'API-2': 'a repeated Idempotency-Key answers the first run; another body is refused',
  'API-3': 'a stream resumes after Last-Event-ID and ends with the terminal event',
  'API-4': 'roles: a member sees its own runs only, an approver decides, an admin manages',
} as const;

export type RequirementId = keyof typeof requirements;
