/* token_counts.test.mjs -- POST /v1/responses/input_tokens, and what a count is used for
 * (CONTRACT 14, 15.4).
 *
 * The upstreams of tests/lib/token_server.mjs count in one way or another. What is counted is what they
 * say themselves, in their usage, of the same request when it is sent. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { pair, shared, startDaemon } from '../lib/daemon.mjs';
import { declared, gateway } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { Api, assistant, output, user } from '../lib/state.mjs';
import { TOKENS_OF_AN_IMAGE, tokenServer, tokensOfRequest } from '../lib/token_server.mjs';
import { CLOSE, HANG, SILENCE, chunk, failure, frames, json, startUpstream } from '../lib/upstream.mjs';

const captures = new Captures();
const PATH = '/v1/responses/input_tokens';
const WAYS = {
    input_tokens: ['/v1/chat/completions/input_tokens'],
    apply_template: ['/apply-template', '/tokenize'],
    tokenize: ['/tokenize'],
    completion: ['/v1/chat/completions'],
};

const IMAGE = { role: 'user', content: [{ type: 'input_text', text: 'What is it?' }, { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }] };
const CALL = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' };
const TOOL = { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} }, strict: false };

/* Requests that differ in what their prompt is made of. */
const REQUESTS = {
    'a question': { input: 'How long is this?' },
    'instructions and messages': { instructions: 'Be brief.', input: [user('One'), assistant('Two'), user('Three')] },
    'tools': { input: 'Look.', tools: [TOOL], tool_choice: 'required', parallel_tool_calls: false },
    'calls and outputs': { input: [user('Look.'), CALL, output('c1', 'seen'), user('And?')], tools: [TOOL] },
    'a format': { input: 'Say it.', text: { format: { type: 'json_schema', name: 'f', schema: { type: 'object', properties: {} } } } },
    'effort': { input: 'Think.', reasoning: { effort: 'low' } },
    'an argument of the template': { input: 'Think.', chat_template_kwargs: { deep: true } },
};

let n = 0;
const unique = (body) => ({ model: 'm', ...body, instructions: `${body.instructions ?? ''} ${n++}` });

const countOf = (daemon, body, options) => ask(daemon, body, { path: PATH, ...options });

async function counted(daemon, body) {
    const got = await countOf(daemon, body);
    captures.keep('count.json', got.bytes, '--kind', got.status === 200 ? 'input-tokens' : 'error');
    assert.equal(got.status, 200, got.text);
    assert.deepEqual(Object.keys(got.json), ['object', 'input_tokens']);
    assert.equal(got.json.object, 'response.input_tokens');
    return got.json.input_tokens;
}

async function refused(daemon, body, status, code, param) {
    const got = await countOf(daemon, body);
    captures.keep('refused.json', got.bytes, '--kind', 'error');
    return checkError(got, status, code, param);
}

const paths = (up) => up.requests.map(({ path }) => path);

/* ---- ways */

for (const [way, asked] of Object.entries(WAYS)) {
    describe(`counted by ${way}`, { concurrency: false }, () => {
        const t = shared({ before, beforeEach, after });

        beforeEach(() => t.up.always(tokenServer([way])));

        for (const [what, body] of Object.entries(REQUESTS)) {
            test(`${what}: as many as the usage of the same request`, async () => {
                const request = unique(body);
                const tokens = await counted(t.daemon, request);
                const seen = paths(t.up);
                assert.deepEqual(seen.slice(-asked.length), asked);
                const { json } = await ask(t.daemon, request);
                assert.equal(json.usage.input_tokens, tokens);
                assert.ok(tokens > 5);
            });
        }

        test('the ways before it are tried once', async () => {
            await counted(t.daemon, unique({ input: 'again' }));
            assert.deepEqual(paths(t.up), asked);
            await t.daemon.logged(/ turn route=\/v1\/responses\/input_tokens model=m .*status=counted http_status=200 .*input_tokens=\d+ /);
        });

        test('what was counted is not counted again', async () => {
            const request = unique({ input: 'the same' });
            const tokens = await counted(t.daemon, request);
            const before = t.up.requests.length;
            assert.equal(await counted(t.daemon, { ...request, stream: true, store: true, temperature: 2, max_output_tokens: 16 }), tokens);
            assert.equal(t.up.requests.length, before);
            assert.notEqual(await counted(t.daemon, { ...request, input: 'not the same at all' }), tokens);
        });

        test('what was sent is not counted at all', async () => {
            const request = unique({ input: 'sent' });
            const { json } = await ask(t.daemon, request);
            t.up.requests = [];
            assert.equal(await counted(t.daemon, request), json.usage.input_tokens);
            assert.deepEqual(paths(t.up), []);
        });

        test('an image', async () => {
            const request = unique({ input: [IMAGE] });
            const tokens = await counted(t.daemon, request);
            assert.ok(tokens > TOKENS_OF_AN_IMAGE);
            const all = way === 'input_tokens' || way === 'completion';
            assert.deepEqual(paths(t.up).at(-1), all ? asked[0] : '/v1/chat/completions');
            assert.equal((await ask(t.daemon, request)).json.usage.input_tokens, tokens);
        });
    });
}

test('a completion for the count has one token, and is not streamed', async (t) => {
    const { up, daemon } = await pair(t, '--count-by', 'completion');
    up.always(tokenServer(['completion']));
    await counted(daemon, { model: 'm', input: 'Hi', tools: [TOOL] });
    const { model, messages, tools, max_tokens, stream, temperature, ...rest } = up.requests[0].body;
    assert.deepEqual([model, messages, tools.length, max_tokens, stream, temperature], ['m', [{ role: 'user', content: 'Hi' }], 1, 1, false, 0]);
    assert.deepEqual(rest, {});
});

test('OpenAI gets its own field, and no temperature', async (t) => {
    const { up, daemon } = await pair(t, '--count-by', 'completion', '--upstream-kind', 'openai');
    up.always(tokenServer(['completion']));
    await counted(daemon, { model: 'm', input: 'Hi' });
    const { max_completion_tokens, max_tokens, temperature } = up.requests[0].body;
    assert.deepEqual([max_completion_tokens, max_tokens, temperature], [1, undefined, undefined]);
});

test('the kind of the server says which ways there are', async (t) => {
    for (const [kind, expected] of [['vllm', ['/tokenize', '/v1/chat/completions']], ['ollama', ['/v1/chat/completions']],
        ['llama.cpp', ['/v1/chat/completions/input_tokens', '/apply-template', '/v1/chat/completions']]]) {
        const { up, daemon } = await pair(t, '--upstream-kind', kind);
        up.always(tokenServer(['completion']));
        await counted(daemon, { model: 'm', input: 'Hi' });
        assert.deepEqual(paths(up), expected, kind);
    }
});

test('vLLM gets the effort and its own arguments as those of the template', async (t) => {
    const { up, daemon } = await pair(t, '--upstream-kind', 'vllm');
    up.always(tokenServer(['tokenize']));
    await counted(daemon, { model: 'm', input: 'Hi', reasoning: { effort: 'low' }, chat_template_kwargs: { deep: true } });
    assert.deepEqual(up.requests[0].body, { model: 'm', messages: [{ role: 'user', content: 'Hi' }], add_generation_prompt: true,
        chat_template_kwargs: { reasoning_effort: 'low', deep: true } });
});

test('a prompt of our own', async (t) => {
    for (const [way, path] of [['tokenize', '/tokenize'], ['apply_template', '/tokenize'], ['completion', '/v1/completions']]) {
        const { up, daemon } = await pair(t, '--harmony', 'harmony-completions', '--harmony-date', '2025-06-28');
        up.always(tokenServer([way]));
        const request = { model: 'gpt-oss', instructions: 'Be brief.', input: 'Hi', tools: [TOOL] };
        const tokens = await counted(daemon, request);
        assert.equal(paths(up).at(-1), path);
        const { prompt, content } = up.requests.at(-1).body;
        assert.match(prompt ?? content, /^<\|start\|>system.*<\|start\|>assistant$/s);
        assert.equal((await ask(daemon, request)).json.usage.input_tokens, tokens);
        assert.equal(up.requests.at(-1).body.prompt, prompt ?? content);
    }
});

/* ---- servers that fail */

describe('a server that', { concurrency: false }, () => {
    test('knows no way, and tells no usage: 501', async (t) => {
        const { up, daemon } = await pair(t);
        const silent = () => json(200, { object: 'chat.completion', choices: [] });
        up.always(tokenServer(['completion'], { says: { completion: silent } }));
        for (const times of [4, 0]) {
            up.requests = [];
            const { message } = await refused(daemon, unique({ input: 'Hi' }), 501, 'not_implemented', null);
            assert.match(message, /^The upstream cannot count tokens\./);
            assert.equal(up.requests.length, times, 'it is not asked again');
        }
    });

    test('is down: 502', async (t) => {
        const { up, daemon } = await pair(t);
        await up.close();
        await refused(daemon, { model: 'm', input: 'Hi' }, 502, 'upstream_unavailable');
    });

    test('fails: the next way is asked, and the first again next time', async (t) => {
        const { up, daemon } = await pair(t);
        let fails = true;
        const way = () => fails && failure(503, 'busy');
        up.always(tokenServer(['input_tokens', 'completion'], { says: { input_tokens: way } }));
        await counted(daemon, unique({ input: 'Hi' }));
        assert.deepEqual(paths(up), [WAYS.input_tokens[0], '/apply-template', '/tokenize', '/v1/chat/completions']);
        fails = false;
        up.requests = [];
        await counted(daemon, unique({ input: 'Hi' }));
        assert.deepEqual(paths(up), WAYS.input_tokens);
    });

    for (const [status, code, answered] of [[500, 'upstream_error', 502], [503, 'server_is_overloaded', 503], [429, 'rate_limit_exceeded', 429], [401, 'upstream_auth', 502]])
        test(`always says ${status}: ${answered}`, async (t) => {
            const { up, daemon } = await pair(t, '--upstream-key', 'sk-secret-of-the-gateway');
            up.always(failure(status, 'no, sk-secret-of-the-gateway'));
            const { message } = await refused(daemon, { model: 'm', input: 'Hi' }, answered, code);
            assert.doesNotMatch(message, /secret/);
            assert.equal(up.requests.length, status === 401 || status === 429 ? 1 : 4);
        });

    test('refuses the client\'s own key: 401', async (t) => {
        const { up, daemon } = await pair(t);
        up.always(failure(401, 'wrong key'));
        checkError(await countOf(daemon, { model: 'm', input: 'Hi' }, { headers: { authorization: 'Bearer sk-of-the-client' } }), 401, 'invalid_api_key');
        assert.equal(up.requests[0].headers.authorization, 'Bearer sk-of-the-client');
    });

    test('does not know the model: 404, and the way is not given up', async (t) => {
        const { up, daemon } = await pair(t, '--upstream-kind', 'vllm');
        const unknown = ({ body }) => body.model === 'x' && json(404, { object: 'error', message: 'The model `x` does not exist.', type: 'NotFoundError', code: 404 });
        up.always(tokenServer(['tokenize'], { says: { tokenize: unknown } }));
        await refused(daemon, { model: 'x', input: 'Hi' }, 404, 'model_not_found');
        await counted(daemon, { model: 'm', input: 'Hi' });
        assert.deepEqual(paths(up), ['/tokenize', '/tokenize']);
    });

    const ODD = {
        'no JSON': '<html>', 'half of it': '{"input_tokens":', 'nothing': '', 'a list': '[1]', 'a text': '{"input_tokens":"9"}',
        'none': '{"input_tokens":0}', 'less than none': '{"input_tokens":-1}', 'far too many': '{"input_tokens":1e15}', 'an error': '{"error":"what?"}',
    };
    for (const [what, body] of Object.entries(ODD))
        test(`answers ${what}: another way is taken, and that one not again`, async (t) => {
            const { up, daemon } = await pair(t, '--upstream-kind', 'llama.cpp');
            up.always(tokenServer(['input_tokens', 'apply_template'], { says: { input_tokens: () => json(200, body) } }));
            await counted(daemon, unique({ input: 'Hi' }));
            await counted(daemon, unique({ input: 'Hi' }));
            assert.deepEqual(paths(up), [...WAYS.input_tokens, ...WAYS.apply_template, ...WAYS.apply_template]);
            await daemon.logged(/tokens are not counted this way way=input_tokens status=200/);
        });

    test('tells of an error of the model with status 200: that is reported, and the way is not given up', async (t) => {
        const { up, daemon } = await pair(t, '--count-by', 'completion');
        up.always(tokenServer(['completion']));
        up.next(json(200, { error: { message: 'The provider is overloaded', code: 429 } }));
        await refused(daemon, unique({ input: 'Hi' }), 429, 'rate_limit_exceeded', null);
        await counted(daemon, unique({ input: 'Hi' }));
    });

    test('answers without end: another way is taken', async (t) => {
        const { up, daemon } = await pair(t, '--max-line', '64KiB');
        const huge = () => ({ headers: {}, pieces: ['{"input_tokens":9,"more":"', 'x'.repeat(128 * 1024), HANG] });
        up.always(tokenServer(['input_tokens', 'completion'], { says: { input_tokens: huge } }));
        await counted(daemon, { model: 'm', input: 'Hi' });
        assert.equal(paths(up).at(-1), '/v1/chat/completions');
    });

    test('lists a large number of tokens', async (t) => {
        const { up, daemon } = await pair(t, '--upstream-kind', 'vllm');
        up.always(tokenServer(['tokenize']));
        const request = { model: 'm', input: 'token '.repeat(150_000) };
        const tokens = await counted(daemon, request);
        assert.ok(tokens > 200_000);
        assert.equal((await ask(daemon, request)).json.usage.input_tokens, tokens);
    });

    test('is slow: another way is taken, and it is tried again', async (t) => {
        const { up, daemon } = await pair(t, '--count-timeout', '50ms');
        up.always(tokenServer(['input_tokens', 'completion'], { says: { input_tokens: () => SILENCE } }));
        for (let i = 0; i < 2; i++) {
            up.requests = [];
            await counted(daemon, unique({ input: 'Hi' }));
            assert.equal(paths(up)[0], WAYS.input_tokens[0]);
            assert.equal(paths(up).at(-1), '/v1/chat/completions');
        }
    });

    test('never answers: 504', async (t) => {
        const { up, daemon } = await pair(t, '--count-timeout', '50ms', '--first-byte-timeout', '100ms');
        up.always(SILENCE);
        await refused(daemon, { model: 'm', input: 'Hi' }, 504, 'upstream_timeout');
    });

    test('breaks off in the middle: another way is taken', async (t) => {
        const { up, daemon } = await pair(t);
        const broken = () => ({ headers: { 'content-length': 100 }, pieces: ['{"input', CLOSE] });
        up.always(tokenServer(['input_tokens', 'completion'], { says: { input_tokens: broken } }));
        await counted(daemon, { model: 'm', input: 'Hi' });
    });

    test('says how much fits, with its count: that is learnt', async (t) => {
        const { up, daemon } = await pair(t, '--upstream-kind', 'vllm');
        up.always(tokenServer(['tokenize'], { window: 1000 }));
        const request = { model: 'm', input: 'long '.repeat(1000) };
        const tokens = await counted(daemon, request);
        const { message } = checkError(await ask(daemon, request), 400, 'context_length_exceeded');
        assert.equal(message, `This model's maximum context length is 1000 tokens, but the request has ${tokens}.`);
        assert.deepEqual(paths(up), ['/tokenize']);
    });

    test('counts what is too long', async (t) => {
        const { up, daemon } = await pair(t);
        up.always(tokenServer(['tokenize']));
        assert.ok(await counted(daemon, { model: 'm', input: 'long '.repeat(100_000) }) > 100_000);
    });

    test('refuses a completion for its length: 400 with the numbers', async (t) => {
        const { up, daemon } = await pair(t, '--count-by', 'completion');
        up.always(json(400, { error: { code: 400, message: 'request (20011 tokens) exceeds the available context size (4096 tokens), try increasing it',
            type: 'exceed_context_size_error', n_prompt_tokens: 20011, n_ctx: 4096 } }));
        const { message } = await refused(daemon, { model: 'm', input: 'Hi' }, 400, 'context_length_exceeded');
        assert.match(message, /20011.*4096|4096.*20011/);
    });

    test('says another number of what was sent is not asked in that way again', async (t) => {
        const { up, daemon } = await pair(t);
        const wrong = () => json(200, { input_tokens: 3 });
        up.always(tokenServer(['input_tokens', 'completion'], { says: { input_tokens: wrong } }));
        const request = { model: 'm', input: 'Hi' };
        assert.equal(await counted(daemon, request), 3);
        const { json: response } = await ask(daemon, request);
        await daemon.logged(/tokens are not counted this way way=input_tokens why=usage_differs/);
        assert.equal(await counted(daemon, request), response.usage.input_tokens);
        const other = { model: 'm', input: 'Hi, you' };
        assert.equal(await counted(daemon, other), tokensOfRequest(up.requests.at(-1).body));
        assert.equal(paths(up).at(-1), '/v1/chat/completions');
    });

    test('hears no more of a client that has gone', async (t) => {
        const { up, daemon } = await pair(t);
        up.always(SILENCE);
        const exchange = open(daemon, { model: 'm', input: 'Hi' }, { path: PATH });
        const seen = await up.request(0);
        exchange.request.destroy();
        await seen.closed;
        await daemon.logged(/ turn .*model=m .*status=client_gone /);
    });
});

/* ---- the keys */

test('count_by', async (t) => {
    for (const [by, ways, expected] of [['server', ['completion'], 501], ['off', ['input_tokens', 'completion'], 501], ['completion', ['input_tokens', 'completion'], 200]]) {
        const { up, daemon } = await pair(t, '--count-by', by);
        up.always(tokenServer(ways));
        const got = await countOf(daemon, unique({ input: 'Hi' }));
        assert.equal(got.status, expected, got.text);
        if (by === 'off')
            assert.deepEqual(paths(up), []);
        if (by === 'server')
            assert.ok(!paths(up).includes('/v1/chat/completions'));
        if (by === 'completion')
            assert.deepEqual(paths(up), ['/v1/chat/completions']);
    }
});

test('without a cache everything is counted each time', async (t) => {
    for (const args of [['--count-cache', '0'], ['--count-cache-time', '0']]) {
        const { up, daemon } = await pair(t, '--upstream-kind', 'llama.cpp', ...args);
        up.always(tokenServer(['input_tokens']));
        for (let i = 0; i < 2; i++)
            await counted(daemon, { model: 'm', input: 'Hi' });
        assert.equal(up.requests.length, 2);
    }
});

test('counts belong to whoever asked', async (t) => {
    const { up, daemon } = await pair(t, '--upstream-kind', 'llama.cpp');
    up.always(tokenServer(['input_tokens']));
    for (const key of ['one', 'two', 'one'])
        assert.equal((await countOf(daemon, { model: 'm', input: 'Hi' }, { headers: { authorization: `Bearer ${key}` } })).status, 200);
    assert.equal(up.requests.length, 2);
});

/* ---- the request */

describe('a request to count', { concurrency: false }, () => {
    const t = shared({ before, beforeEach, after });
    const api = new Api(t, captures);

    beforeEach(() => t.up.always(tokenServer(['input_tokens'])));

    const textsOf = () => t.up.requests.at(-1).body.messages.map(({ content }) => content);

    test('needs no input', async () => {
        await counted(t.daemon, { model: 'm', instructions: 'Be brief.' });
        assert.deepEqual(textsOf(), ['Be brief.', '']);
        await counted(t.daemon, { instructions: 'Be very brief.' });
        assert.equal(t.up.requests.at(-1).body.model, 'test-model');
    });

    test('is read as far as it makes the prompt', async () => {
        await counted(t.daemon, unique({ input: 'Hi', stream: 'yes', store: 7, max_output_tokens: -1, temperature: 'hot', background: true,
            metadata: [], include: {}, prompt: { id: 'x' }, personality: 'friendly' }));
    });

    test('is checked like any other', async () => {
        await refused(t.daemon, { model: 'm', input: 7 }, 400, 'invalid_type', 'input');
        await refused(t.daemon, { model: 'm', input: 'Hi', tools: {} }, 400, 'invalid_type', 'tools');
        await refused(t.daemon, { model: 'm', input: 'Hi', tool_choice: { type: 'function', name: 'x' } }, 400, 'invalid_value', 'tool_choice');
        await refused(t.daemon, { model: 'm', input: [{ type: 'message', role: 'nobody', content: 'x' }] }, 400, 'invalid_value');
        await refused(t.daemon, { model: 'm', previous_response_id: 'resp_x', conversation: 'conv_x' }, 400, 'mutually_exclusive_parameters', 'previous_response_id');
        await refused(t.daemon, '{', 400, 'invalid_json');
        assert.deepEqual(paths(t.up), []);
    });

    test('is a POST', async () => {
        for (const method of ['GET', 'DELETE'])
            checkError(await ask(t.daemon, undefined, { method, path: PATH }), 405, 'method_not_allowed');
    });

    test('continues a response', async () => {
        const first = await api.respond({ model: 'm', instructions: 'Once.', input: 'One' });
        await counted(t.daemon, { model: 'm', previous_response_id: first.id, input: 'Two' });
        assert.deepEqual(textsOf(), ['One', 'Hi', 'Two']);
        await counted(t.daemon, { model: 'm', previous_response_id: first.id });
        assert.deepEqual(textsOf(), ['One', 'Hi']);
        await refused(t.daemon, { model: 'm', previous_response_id: 'resp_unknown', input: 'x' }, 400, 'previous_response_not_found', 'previous_response_id');
    });

    test('reads a conversation, changes nothing in it, and waits for nobody', async () => {
        const { id } = await api.make('conversations', { items: [user('One')] });
        await counted(t.daemon, { model: 'm', conversation: id, input: 'Two' });
        assert.deepEqual(textsOf(), ['One', 'Two']);
        t.up.next({ headers: { 'content-type': 'text/event-stream' }, pieces: [...frames(chunk({ content: 'a' })), HANG] });
        const busy = open(t.daemon, { model: 'm', conversation: id, input: 'Three', stream: true });
        await busy.until(() => busy.text.includes('output_text.delta'));
        await counted(t.daemon, { model: 'm', conversation: { id }, input: 'Four' });
        assert.deepEqual(textsOf(), ['One', 'Four']);
        busy.request.destroy();
        assert.equal((await api.list(`conversations/${id}/items`)).length, 1);
        await refused(t.daemon, { model: 'm', conversation: 'conv_00000000000000000000000000000000', input: 'x' }, 404, 'not_found', 'conversation');
    });

    test('counts what is stored and referred to', async () => {
        const first = await api.respond({ model: 'm', input: 'One' });
        await counted(t.daemon, { model: 'm', input: [{ type: 'item_reference', id: first.output[0].id }, user('Two')] });
        assert.deepEqual(textsOf(), ['Hi', 'Two']);
    });

    test('counts a call that has no output yet', async () => {
        await counted(t.daemon, unique({ input: [user('Look.'), CALL], tools: [TOOL] }));
    });
});

test('tools of servers are counted as they are known, and nothing is called or listed', async (t) => {
    const server = await startMcp();
    const g = await gateway(t, { servers: { s: server }, args: ['--upstream-kind', 'llama.cpp', '--mcp-remote', 'any'] });
    g.up.always(tokenServer(['input_tokens']));
    const request = { model: 'm', input: 'Hi', tools: [declared('s')] };
    const tokens = await counted(g.daemon, request);
    assert.ok(g.up.requests[0].body.tools.length > 0);
    assert.equal((await ask(g.daemon, request)).json.usage.input_tokens, tokens);
    const calls = server.requests?.length;
    await counted(g.daemon, { model: 'm', input: 'Hi', tools: [declared('other', { server_url: 'http://127.0.0.1:1/mcp' }), TOOL] });
    assert.equal(g.up.requests.at(-1).body.tools.length, 1);
    assert.equal(server.requests?.length, calls);
});

/* ---- what the count is for */

const WINDOW = 2048;

async function withWindow(t, ways, ...args) {
    const up = await startUpstream();
    t.after(() => up.close());
    up.probed = ({ path }) => path === '/v1/models' ? json(200, { object: 'list', data: [{ id: 'm', max_model_len: WINDOW }] }) : json(404, {});
    const daemon = await startDaemon({ upstream: up.url, args: ['--upstream-kind', 'vllm', ...args] });
    t.after(() => daemon.stop());
    up.always(tokenServer(ways));
    return { up, daemon };
}

const turnsOf = (count, length) => Array.from({ length: count }, (_, i) => [user(`${i} `.padEnd(length, 'question ')), assistant(`${i} `.padEnd(length, 'answer '))]).flat();
const sentOf = (up) => up.requests.filter(({ path }) => path === '/v1/chat/completions');

describe('beyond the window', { concurrency: false }, () => {
    const TOO_LONG = { model: 'm', input: [...turnsOf(40, 200), user('The last one')] };

    for (const streamed of [false, true])
        test(`what is known to be is refused before it is sent${streamed ? ', streamed' : ''}`, async (t) => {
            const { up, daemon } = await withWindow(t, ['tokenize']);
            const tokens = await counted(daemon, TOO_LONG);
            const got = await ask(daemon, { ...TOO_LONG, stream: streamed });
            captures.keep('too long.json', got.bytes, '--kind', 'error');
            const { message } = checkError(got, 400, 'context_length_exceeded');
            assert.equal(message, `This model's maximum context length is ${WINDOW} tokens, but the request has ${tokens}.`);
            assert.deepEqual(sentOf(up), []);
        });

    test('a server that was started anew with more room is not refused for long what it had none for', async (t) => {
        const { up, daemon } = await withWindow(t, ['tokenize']);
        await counted(daemon, TOO_LONG);
        up.probed = ({ path }) => path === '/v1/models' ? json(200, { object: 'list', data: [{ id: 'm', max_model_len: 100 * WINDOW }] }) : json(404, {});
        await sleep(1100); /* it is not asked more often */
        checkError(await ask(daemon, TOO_LONG), 400, 'context_length_exceeded');
        await daemon.logged(new RegExp(`context window model=m tokens=${100 * WINDOW}`));
        assert.equal((await ask(daemon, TOO_LONG)).status, 200);
        assert.equal(sentOf(up).length, 1);
    });

    test('what is not counted is sent: an estimate refuses nothing', async (t) => {
        const { up, daemon } = await withWindow(t, ['tokenize']);
        assert.equal((await ask(daemon, TOO_LONG)).status, 200);
        assert.deepEqual(paths(up), ['/v1/chat/completions']);
    });

    test('what fits is sent', async (t) => {
        const { daemon } = await withWindow(t, ['tokenize']);
        const request = { model: 'm', input: 'Hi' };
        await counted(daemon, request);
        assert.equal((await ask(daemon, request)).status, 200);
    });

    for (const streamed of [false, true])
        test(`with truncation auto it is made shorter before it is sent${streamed ? ', streamed' : ''}`, async (t) => {
            const { up, daemon } = await withWindow(t, ['tokenize']);
            const got = await ask(daemon, { ...TOO_LONG, truncation: 'auto', stream: streamed });
            captures.keep(`shortened.${streamed ? 'sse' : 'json'}`, got.bytes);
            const response = streamed ? checkStream(got.text).response : got.json;
            assert.equal(response.status, 'completed', got.text);
            assert.deepEqual(paths(up), ['/tokenize', '/v1/chat/completions']);
            const { messages } = up.requests[1].body;
            assert.ok(tokensOfRequest({ messages }) <= WINDOW, 'it fits');
            assert.ok(tokensOfRequest({ messages }) > WINDOW / 2, 'and no more goes than must');
            assert.equal(messages.at(-1).content, 'The last one');
            await daemon.logged(/ shortened=1 truncated=\d+ /);
        });

    test('with truncation auto what is short is not counted', async (t) => {
        const { up, daemon } = await withWindow(t, ['tokenize']);
        await ask(daemon, { model: 'm', input: 'Hi', truncation: 'auto' });
        assert.deepEqual(paths(up), ['/v1/chat/completions']);
    });

    test('with truncation auto no completion is asked for a count, and a server that cannot count hinders nobody', async (t) => {
        const { up, daemon } = await withWindow(t, ['completion']);
        for (let i = 0; i < 2; i++)
            assert.equal((await ask(daemon, { ...TOO_LONG, truncation: 'auto' })).status, 200);
        assert.deepEqual(paths(up), ['/tokenize', '/v1/chat/completions', '/v1/chat/completions']);
        assert.ok(sentOf(up).every(({ body }) => body.max_tokens === undefined));
    });

    test('one question that is too long alone', async (t) => {
        const { up, daemon } = await withWindow(t, ['tokenize']);
        checkError(await ask(daemon, { model: 'm', truncation: 'auto', input: 'long '.repeat(10_000) }), 400, 'context_length_exceeded');
        assert.deepEqual(sentOf(up), []);
    });

    test('with clamp_output no longer an answer is asked for than there is room for', async (t) => {
        const { up, daemon } = await withWindow(t, ['tokenize'], '--clamp-output');
        const long = { model: 'm', input: [...turnsOf(3, 200), user('And?')] };
        const tokens = await counted(daemon, long);
        const asked = async (more) => {
            assert.equal((await ask(daemon, { ...long, ...more })).status, 200);
            return sentOf(up).at(-1).body.max_tokens;
        };
        assert.equal(await asked({ max_output_tokens: WINDOW - 1 }), WINDOW - tokens);
        assert.equal(await asked({ max_output_tokens: WINDOW - tokens }), WINDOW - tokens);
        assert.equal(await asked({ max_output_tokens: 100 }), 100);
        assert.equal(await asked({}), undefined);
        /* counted for that alone */
        const other = { input: [...turnsOf(3, 210), user('And now?')], max_output_tokens: WINDOW - 1 };
        up.requests = [];
        assert.ok(await asked(other) < WINDOW - tokens);
        assert.deepEqual(paths(up), ['/tokenize', '/v1/chat/completions']);
        /* what leaves no room at all is refused, as ever */
        checkError(await ask(daemon, { ...TOO_LONG, max_output_tokens: 10 }), 400, 'context_length_exceeded');
    });

    test('without it the request is sent as it is', async (t) => {
        const { up, daemon } = await withWindow(t, ['tokenize']);
        const long = { model: 'm', input: [...turnsOf(3, 200), user('And?')], max_output_tokens: 100_000 };
        await counted(daemon, long);
        assert.equal((await ask(daemon, long)).status, 200);
        assert.equal(sentOf(up).at(-1).body.max_tokens, 100_000);
    });

    test('a client that leaves while its conversation is measured', async (t) => {
        const { up, daemon } = await withWindow(t, ['tokenize']);
        up.always(SILENCE);
        const exchange = open(daemon, { ...TOO_LONG, truncation: 'auto' });
        const seen = await up.request(0);
        assert.equal(seen.path, '/tokenize');
        exchange.request.destroy();
        await seen.closed;
        await daemon.logged(/ status=client_gone /);
    });
});

captures.judge(test);
