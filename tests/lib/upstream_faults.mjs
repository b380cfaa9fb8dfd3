/* upstream_faults.mjs -- what servers of Chat Completions say when something is wrong, or nothing at all.
 *
 *     rig.behave(FAULTS.loading(), 3);        the next three rounds; see upstreams.mjs
 *
 * Each is a function that gives an answer of upstream.mjs. Where the words are those of a server, the line
 * above names it and where they come from.
 */
import { CLOSE, HANG, RESET, SILENCE, chunk, failure, frames, json, stream } from './upstream.mjs';

const HTML = { 'content-type': 'text/html' };
const SSE = { 'content-type': 'text/event-stream' };
const delta = (content) => frames(chunk({ content }))[0];
const after = (seconds) => (seconds === undefined ? {} : { 'retry-after': String(seconds) });
const firstly = (error) => stream(frames({ error }, '[DONE]'));

/* What the gateway must not take for an answer. */
const PAGE = '<!DOCTYPE html>\n<html><head><title>It works</title></head><body><h1>It works!</h1></body></html>\n';

export const FAULTS = {
    /* ---- nothing more comes: a GPU that hangs, a prompt that takes long. llama.cpp while it reads a long prompt
     * (ik_llama.cpp issue 1210: /health is silent as well) */
    silent: () => SILENCE,
    silentAfterHead: () => stream([HANG]),
    silentAfterRole: () => stream([...frames(chunk({ role: 'assistant', content: '' })), HANG]),
    silentAfterText: (text = 'Some words') => stream([delta(text), HANG]),

    /* ---- it breaks off: the kernel kills a process that takes too much memory, a container is restarted */
    reset: () => ({ before: [RESET] }),
    closed: () => ({ before: [CLOSE] }),
    resetAfterHead: () => stream([20, RESET]),
    brokenAfterHead: () => stream([20, CLOSE]),
    brokenAfterRole: () => stream([...frames(chunk({ role: 'assistant', content: '' })), 20, CLOSE]),
    brokenAfterText: (text = 'Some words') => stream([delta(text), 20, CLOSE]),

    /* ---- 429. TGI: router/src/server.rs, ErrorResponse "overloaded"; text-generation-inference issue 439 */
    overloaded: (seconds) => json(429, { error: 'Model is overloaded', error_type: 'overloaded' }, after(seconds)),
    /* OpenAI's API reference, errors: rate limits, with Retry-After in seconds. */
    rateLimited: (seconds) => failure(429, 'Rate limit reached for requests', { type: 'requests', code: 'rate_limit_exceeded' }, after(seconds)),

    /* ---- 503. Ollama: pull request 4144, OLLAMA_MAX_QUEUE */
    busy: (seconds) => failure(503, 'server busy, please try again.  maximum pending requests exceeded', { type: 'api_error' }, after(seconds)),
    unavailable: (seconds) => ({ status: 503, headers: { 'content-type': 'text/plain', ...after(seconds) }, pieces: ['upstream connect error or disconnect/reset before headers'] }),
    /* llama.cpp while it reads its model: every path says so since pull request 9056. */
    loading: () => json(503, { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }, { server: 'llama.cpp' }),

    /* ---- other statuses. nginx: what it says when the server behind it is gone, or late. */
    badGateway: () => ({ status: 502, headers: HTML, pieces: ['<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n'] }),
    gatewayTimeout: () => ({ status: 504, headers: HTML, pieces: ['<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n</html>\r\n'] }),
    /* llama.cpp, when llama_decode() fails (tools/server, update_slots). */
    failed: () => json(500, { error: { code: 500, message: 'Compute error.', type: 'server_error' } }, { server: 'llama.cpp' }),
    notImplemented: () => json(501, { error: { code: 501, message: 'This server does not support this', type: 'not_supported_error' } }),
    badRequest: () => failure(400, 'temperature must be non-negative', { type: 'BadRequestError', code: 400 }),
    unprocessable: () => json(422, { detail: [{ loc: ['body', 'messages'], msg: 'Field required', type: 'missing' }] }),

    /* ---- 404. vLLM up to 0.10: issue 3485. vLLM since, and SGLang: the same within `error`. */
    modelMissing: (model = 'm') => json(404, { object: 'error', message: `The model \`${model}\` does not exist.`, type: 'NotFoundError', param: null, code: 404 }),
    modelMissingInError: (model = 'm') => failure(404, `The model \`${model}\` does not exist.`, { type: 'NotFoundError', param: 'model', code: 404 }),
    /* Ollama: server/routes.go, through its OpenAI middleware. */
    modelNotPulled: (model = 'm') => failure(404, `model "${model}" not found, try pulling it first`, { type: 'api_error' }),
    noSuchPath: () => json(404, { detail: 'Not Found' }),

    /* ---- garbage: another program on that port, a captive portal, a server whose process writes into its socket */
    page: () => ({ headers: HTML, pieces: [PAGE] }),
    halfHead: () => ({ raw: true, pieces: ['HTTP/1.1 200 OK\r\nContent-Type: text/ev', 20, CLOSE] }),
    noHttp: () => ({ raw: true, pieces: [Buffer.from('\x15\x03\x01\x00\x02\x02\x46 220 mail.example.org ESMTP\r\n', 'latin1'), 20, CLOSE] }),
    noEvents: () => ({ headers: SSE, pieces: [Buffer.from([0, 1, 2, 255, 254, 10, 10]), 'no event of any kind\n\n'] }),

    /* ---- head 200, then an error object as the first thing said. vLLM: create_streaming_error_response, described in
     * guidellm issue 743; an engine whose queue is full, litellm issue 40578. */
    errorFirst: (code, message = 'Engine failed', type = 'InternalServerError') => firstly({ message, type, param: null, code }),
    errorFirst429: () => firstly({ message: 'Rate limit reached', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' }),
    errorFirst503: () => firstly({ message: 'The request queue is full.', type: 'ServiceUnavailableError', param: null, code: 503 }),
    errorFirst400: () => firstly({ message: 'temperature must be non-negative', type: 'BadRequestError', param: null, code: 400 }),
    errorFirstWithoutCode: () => firstly({ message: 'Something went wrong', type: 'error', param: null, code: null }),
};
