/* generated.test.mjs -- thousands of requests out of the schema that OpenAI publishes, whole, a little
 * and badly broken: each is answered, or refused with a word about which part of it.
 *
 * ANTIPHON_TEST_SEED repeats a run; a failure shows the request. */
import assert from 'node:assert/strict';
import test, { after, before, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { SEED, dice } from '../lib/dice.mjs';
import { FIELDS, RequestDice } from '../lib/schema_dice.mjs';
import { chunk, failure, frames, json, startUpstream, stream, textStream, usageChunk, words } from '../lib/upstream.mjs';
import { webSocket } from '../lib/websocket.mjs';

const captures = new Captures();
const CAPTURED = 250; /* the validator takes its time */

/* CONTRACT 7.2, for what is wrong with a request. */
const CODES = new Set(['unknown_parameter', 'missing_required_parameter', 'invalid_type', 'invalid_value', 'unsupported_parameter', 'mutually_exclusive_parameters',
    'integer_below_min_value', 'integer_above_max_value', 'decimal_below_min_value', 'decimal_above_max_value',
    'string_above_max_length', 'array_above_max_length', 'object_above_max_properties', 'previous_response_not_found', 'not_found']);

/* The schema says nothing of these; the rest of what it allows is taken. */
const NOT_OF_THE_SCHEMA = new Set(['invalid_value', 'unsupported_parameter', 'mutually_exclusive_parameters', 'previous_response_not_found', 'not_found']);
const NEEDED = /^input$|\.(image_url|file_data)$|^tool_choice\.tools\[\d+\]\.type$/; /* it takes an item without them */

const isOfTheSchema = ({ code, param }) => !NOT_OF_THE_SCHEMA.has(code) && !(code === 'missing_required_parameter' && NEEDED.test(param));

/* ---- what the upstream says, and what it is asked */

const ARGUMENTS = ['{}', '{"a": 1}', '{"commands":["ls"]}', '{"command":["ls"]}', '{"type":"update_file","path":"a","diff":"@@"}',
    '{"query":"x"}', '{"input":"x"}', '', '   ', 'nonsense', '{"commands":', '[1]', '{"input":5}'];

function callsOf(tools, roll) {
    const n = 1 + roll(2);
    const calls = Array.from({ length: n }, (_, index) => {
        const args = ARGUMENTS[roll(ARGUMENTS.length)];
        const half = roll(args.length + 1);
        const name = tools[roll(tools.length)].function.name;
        return [{ index, id: `up_${index}`, type: 'function', function: { name, arguments: args.slice(0, half) } },
            { index, function: { arguments: args.slice(half) } }];
    });
    return stream(frames(...calls.flat().map((call) => chunk({ tool_calls: [call] })), chunk({}, 'tool_calls'), usageChunk(20, 5), '[DONE]'));
}

const asksForSummary = ({ body }) => /about to be replaced by a summary/.test(JSON.stringify(body?.messages?.at(-1) ?? ''));

function answerTo({ path, body }, roll) {
    if (!path.endsWith('/chat/completions'))
        return failure(404, 'Not Found');
    if (body.stream !== true)
        return json(200, { id: 'x', object: 'chat.completion', choices: [], usage: { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 } });
    if (body.tools?.length > 0 && roll(2) === 0)
        return callsOf(body.tools, roll);
    switch (roll(5)) {
        case 0: return textStream('');
        case 1: return textStream('cut off', { finish: 'length' });
        case 2: return textStream('{"a":1}', { reasoning: words('thought about it').join('') });
        default: return textStream('Hello you');
    }
}

/* What every server insists on. */
function checkAsked({ body }) {
    const names = (body.tools ?? []).map((tool) => tool.function.name);
    let open = []; /* ids of calls, the same perhaps twice */
    assert.ok(body.messages.length > 0);
    assert.deepEqual(names, [...new Set(names)], 'each tool has a name of its own');
    for (const tool of body.tools ?? []) {
        assert.match(tool.function.name, /^[A-Za-z0-9_-]{1,64}$/);
        assert.equal(typeof (tool.function.parameters ?? {}), 'object');
    }
    for (const message of body.messages) {
        assert.ok(['system', 'user', 'assistant', 'tool'].includes(message.role));
        if (message.role === 'tool') {
            assert.ok(open.includes(message.tool_call_id), 'a tool message follows its call');
            open.splice(open.indexOf(message.tool_call_id), 1);
        } else {
            open = (message.tool_calls ?? []).map(({ id }) => id);
        }
        for (const call of message.tool_calls ?? [])
            assert.ok(call.function.name.length > 0 && typeof JSON.parse(call.function.arguments) === 'object');
    }
}

/* ---- what the client gets */

const head = (param) => param.match(/^[^.[]*/)[0];

/* Does what is left of a param lead on from here? It may end in a member that is missing, or be cut.
 * Names of members may have any character in them. */
function leadsOn(at, rest) {
    if (rest === '')
        return true;
    const steps = Array.isArray(at) ? at.map((value, i) => [`[${i}]`, value])
        : Object.entries(at ?? {}).map(([key, value]) => [key, value]);
    return steps.some(([step, value]) => rest.startsWith(step) && typeof at === 'object' && leadsOn(value, rest.slice(step.length).replace(/^\./, ''))) ||
        /^[\w-]+$/.test(rest) || rest.length > 80;
}

function checkRefusal(request, error, status) {
    const text = JSON.stringify(error);
    assert.ok(status === 400 || status === 404, text);
    assert.equal(error.type, 'invalid_request_error');
    assert.ok(CODES.has(error.code), text);
    assert.ok(typeof error.param === 'string' && (FIELDS.includes(head(error.param)) || Object.hasOwn(request, head(error.param))), text);
    assert.ok(leadsOn(request, error.param), text);
    return error;
}

/* What all schemas of the validator know: not what is echoed of something broken, not every kind of tool,
 * not the newest members of functions. */
const KNOWN_TOOLS = new Set(['function', 'custom', 'namespace', 'mcp', 'local_shell', 'shell', 'apply_patch', 'code_interpreter', 'web_search']);
const isJudged = ({ tools, tool_choice, output }) =>
    tools.every((tool) => KNOWN_TOOLS.has(tool.type) && !('async' in tool || 'allowed_callers' in tool || 'output_schema' in tool)) &&
    (typeof tool_choice === 'string' || tool_choice.type === 'function') &&
    output.every(({ type }) => type !== 'tool_search_call');

function checkAnswer(request, got) {
    const streams = request.stream === true;
    const response = streams ? checkStream(got.text).response : got.json;
    assert.ok(['completed', 'incomplete'].includes(response.status), got.text);
    assert.equal(response.object, 'response');
    assert.match(response.id, /^resp_[0-9A-Za-z]{32,}$/);
    assert.equal(response.error, null);
    assert.ok(response.output.every(({ id, type }) => id.length <= 64 && type.length > 0));
    if (request.tools || !request.previous_response_id)
        assert.equal(response.tools.length, request.tools?.length ?? 0, 'all tools are echoed'); /* else they are inherited */
    return response;
}

/* ---- the play */

describe('requests out of the schema', { concurrency: false }, () => {
    const count = {};
    const stored = []; /* ids of responses that can be continued */
    let up, daemon, strict, conversation, complaint, kept = 0;

    before(async () => {
        up = await startUpstream();
        daemon = await startDaemon({ upstream: up.url, args: ['--model', 'test-model'] });
        strict = await startDaemon({ upstream: up.url, args: ['--model', 'test-model', '--unknown-fields', 'reject', '--unsupported-tools', 'reject'] });
        conversation = (await ask(daemon, {}, { path: '/v1/conversations' })).json.id;
    });
    after(async () => {
        await daemon.stop();
        await strict.stop();
        await up.close();
    });

    /* Some go on from what is stored. */
    function place(request, roll) {
        if (request.conversation !== undefined || request.previous_response_id !== undefined)
            return request;
        if (stored.length > 0 && roll(5) === 0)
            request.previous_response_id = stored[roll(stored.length)];
        else if (roll(30) === 0)
            request.conversation = conversation;
        return request;
    }

    function judge(kind, i, request, got) {
        const words = count[kind] ??= {};
        assert.ok(got.status < 500, got.text);
        const refusal = got.status === 200 ? undefined : checkRefusal(request, checkError(got, got.status), got.status);
        words[refusal?.code ?? 'taken'] = (words[refusal?.code ?? 'taken'] ?? 0) + 1;
        if (refusal !== undefined) {
            assert.ok(kind !== 'whole' || !isOfTheSchema(refusal), got.text);
            return undefined;
        }
        const response = checkAnswer(request, got);
        if (kind === 'whole' && kept < CAPTURED && isJudged(response)) {
            kept++;
            captures.keep(`${i}.${request.stream === true ? 'sse' : 'json'}`, got.bytes);
        }
        return response;
    }

    /* The upstream answers by the same dice, and looks at what it is asked. A model that writes no summary is
     * an error of the upstream's. */
    function prepare(i, make) {
        const roll = dice(SEED * 10_007 + i);
        const request = make(new RequestDice(roll), roll);
        up.requests = [];
        complaint = undefined;
        up.always((seen) => {
            try {
                if (seen.path.endsWith('/chat/completions'))
                    checkAsked(seen);
            } catch (error) {
                complaint = new Error(`${error.message}\nthe upstream was asked: ${seen.raw}`); /* said where the request is known */
            }
            return asksForSummary(seen) ? textStream('In short: all done.') : answerTo(seen, roll);
        });
        return request;
    }

    /* What goes wrong is said with the request. */
    function explained(kind, i, request, check) {
        try {
            if (complaint !== undefined)
                throw complaint;
            return check();
        } catch (error) {
            throw new Error(`seed ${SEED}, request ${i}, ${kind}: ${JSON.stringify(request)}\n${error.message}`, { cause: error });
        }
    }

    /* What is made in the background is judged when it has ended. */
    async function ended(target, got) {
        while (/^application\/json/.test(got.headers['content-type']) && ['queued', 'in_progress'].includes(got.json.status))
            got = await ask(target, undefined, { method: 'GET', path: `/v1/responses/${got.json.id}` });
        return got;
    }

    async function play(kind, i, make, target = daemon) {
        const request = prepare(i, make);
        const got = await ended(target, await ask(target, request));
        const response = explained(kind, i, request, () => judge(kind, i, request, got));
        if (response?.store && target === daemon)
            stored.push(response.id);
    }

    const told = (t, kind) => t.diagnostic(`seed ${SEED}: ${Object.entries(count[kind]).map(([word, n]) => `${n} ${word}`).join(', ')}`);

    test('1,000 that the schema allows are taken, or something of them is not supported', async (t) => {
        for (let i = 0; i < 1000; i++)
            await play('whole', i, (maker, roll) => place(maker.request(), roll));
        told(t, 'whole');
        assert.ok(count.whole.taken > 300, 'enough of them are taken');
    });

    test('1,000 with one thing wrong are taken, or refused with its place', async (t) => {
        for (let i = 1000; i < 2000; i++)
            await play('a little broken', i, (maker, roll) => maker.broken(place(maker.request(), roll), 1));
        told(t, 'a little broken');
    });

    test('700 with many things wrong are', async (t) => {
        for (let i = 2000; i < 2700; i++)
            await play('badly broken', i, (maker, roll) => maker.broken(maker.request(), 3 + roll(20)));
        told(t, 'badly broken');
    });

    test('400 are taken or refused where nothing unknown is let pass', async (t) => {
        for (let i = 2700; i < 3100; i++)
            await play('strict', i, (maker, roll) => maker.broken(maker.request(), roll(2)), strict);
        told(t, 'strict');
    });

    test('400 are taken or refused over a WebSocket, which stays open', async (t) => {
        const words = (count.WebSocket = {});
        const ws = await webSocket(t, daemon);
        for (let i = 4000; i < 4400; i++) {
            const request = prepare(i, (maker, roll) => maker.broken(place(maker.request(), roll), roll(2)));
            ws.create(request);
            const end = await ws.ends();
            explained('WebSocket', i, request, () => {
                const { status, error } = end;
                const code = end.type === 'error' ? checkRefusal(request, error, status).code : 'taken';
                assert.ok(code !== 'taken' || ['completed', 'incomplete'].includes(end.response.status), JSON.stringify(end));
                words[code] = (words[code] ?? 0) + 1;
            });
        }
        assert.equal(ws.closeCode, undefined);
        told(t, 'WebSocket');
    });

    test('400 are counted or refused', async (t) => {
        const words = (count.tokens = {});
        for (let i = 4900; i < 5300; i++) {
            const request = prepare(i, (maker, roll) => maker.broken(place(maker.request(), roll), roll(2)));
            const got = await ask(daemon, request, { path: '/v1/responses/input_tokens' });
            explained('tokens', i, request, () => {
                assert.ok(got.status < 500, got.text);
                const code = got.status === 200 ? 'taken' : checkRefusal(request, checkError(got, got.status), got.status).code;
                assert.ok(code !== 'taken' || got.json.input_tokens > 0, got.text);
                words[code] = (words[code] ?? 0) + 1;
            });
        }
        told(t, 'tokens');
    });

    test('500 lists of items are added to a conversation or refused', async (t) => {
        const words = (count.items = {});
        const path = `/v1/conversations/${(await ask(daemon, {}, { path: '/v1/conversations' })).json.id}/items`;
        for (let i = 4400; i < 4900; i++) {
            const request = prepare(i, (maker, roll) => maker.broken({ items: maker.items() }, roll(2)));
            const got = await ask(daemon, request, { path });
            explained('items', i, request, () => {
                assert.ok(got.status < 500, got.text);
                const code = got.status === 200 ? 'taken' : checkError(got, got.status).code;
                assert.ok(code === 'taken' || (CODES.has(code) && leadsOn(request, got.json.error.param)), got.text);
                words[code] = (words[code] ?? 0) + 1;
            });
        }
        told(t, 'items');
        const list = await ask(daemon, undefined, { method: 'GET', path: `${path}?limit=100` });
        assert.equal(list.status, 200, list.text);
    });

    test('300 that are no JSON any more are refused as that', async () => {
        for (let i = 3100; i < 3400; i++) {
            const roll = dice(SEED * 10_007 + i);
            const text = Buffer.from(JSON.stringify(new RequestDice(roll).request()));
            const at = roll(text.length);
            const body = [text.subarray(0, at), Buffer.concat([text.subarray(0, at), Buffer.from([roll(256)]), text.subarray(at)]),
                Buffer.concat([text.subarray(0, at), text.subarray(at + 1)])][roll(3)];
            const got = await ask(daemon, body);
            assert.ok([200, 400, 404].includes(got.status), `seed ${SEED}, request ${i}: ${got.text}`);
            if (got.status !== 200)
                checkError(got, got.status);
        }
    });

    test('what is stored of them can be read again', async () => {
        for (const id of stored) {
            const response = await ask(daemon, undefined, { method: 'GET', path: `/v1/responses/${id}` });
            assert.equal(response.status, 200, response.text);
            assert.equal(response.json.id, id);
            const items = await ask(daemon, undefined, { method: 'GET', path: `/v1/responses/${id}/input_items?limit=100` });
            assert.equal(items.status, 200, items.text);
            assert.ok(items.json.data.every((item) => item.id.length > 0 && item.type.length > 0), items.text);
        }
    });
});

captures.judge(test);
