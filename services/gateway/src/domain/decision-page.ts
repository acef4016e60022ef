/** The id has passed the pattern of approval ids, which holds no character that HTML or a shell would read as anything else. */
export const decisionPage = (approvalId: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>An approval waits</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}pre{background:#f3f3f3;color:#111;padding:.8rem;overflow-x:auto}</style>
<h1>An approval waits for a person</h1>
<p>This page shows nothing of it and decides nothing: whoever decides does so with a token of their own.</p>
<p>With the command line:</p>
<pre>fluidbox approvals
fluidbox approve ${approvalId}
fluidbox deny ${approvalId} --comment "why"</pre>
<p>Or with the API, to read it and then to decide:</p>
<pre>GET  /v1/approvals/${approvalId}
POST /v1/approvals/${approvalId}/decision   {"decision": "approve"}
Authorization: Bearer &lt;your token&gt;</pre>
</html>
`;
