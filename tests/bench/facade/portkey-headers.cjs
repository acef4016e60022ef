// The Portkey gateway appends headers to the streamed response that it got from `fetch`, whose headers no Node lets it change, and answers 500. Only with this
// in front of it do its streams work: a response with headers of its own around the same body.
const original = globalThis.fetch;
globalThis.fetch = async (...args) => {
  const { body, headers, status, statusText } = await original(...args);
  return new Response(body, { headers: new Headers(headers), status, statusText });
};
