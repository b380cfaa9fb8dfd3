/* chat_loop.test.mjs -- /v1/chat/completions runs tools of MCP servers between calls of
 * the upstream (CONTRACT 6.2). Each round is one call of the upstream, never more. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { ask, open } from '../lib/client.mjs';
import { gateway, rawCall, sharedGateway, shown } from '../lib/mcp.mjs';
import { llamaServer } from '../lib/llama_server.mjs';
import { HANG, failed, startMcp, text } from '../lib/mcp_server.mjs';
import { CLOSE, HANG as SILENT, callStream, chunk, failure, frames, json, stream, textStream, usageChunk } from '../lib/upstream.mjs';

const PATH = '/v1/chat/completions';
const ECHO = shown('fake', 'echo');
const REQUEST = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
const STREAM = { ...REQUEST, stream: true };

const post = (g, body, options = {}) => ask(g.daemon, body, { path: PATH, ...options });
const args = (value) => JSON.stringify(value);
const call = (name, value, id = 'c1') => ({ id, type: 'function', function: { name, arguments: args(value) } });
const completion = (message, more = {}) => json(200, {
    id: 'chatcmpl-9', object: 'chat.completion', created: 7, model: 'upstream-model',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }, ...more,
});
const calling = (...tool_calls) => completion({ content: null, tool_calls });
const saying = (content, more) => completion({ content }, more);

/* The chunks of a stream, which must be framed and ended as one. */
function chunksOf(got) {
    assert.equal(got.status, 200, got.text);
    assert.equal(got.headers['content-type'], 'text/event-stream; charset=utf-8');
    const data = got.text.replaceAll(': heartbeat\n\n', '').split('\n\n');
    assert.deepEqual(data.splice(-2), ['data: [DONE]', '']);
    return data.map((line) => JSON.parse(line.replace(/^data: /, '')));
}

/* What an SDK would make of them: it insists on one of everything that there is once. */
function accumulate(chunks) {
    const choices = chunks.flatMap(({ choices }) => choices);
    const deltas = choices.map(({ delta }) => delta);
    const calls = [];
    for (const { tool_calls = [] } of deltas) {
        for (const { index, id, function: { name, arguments: piece } } of tool_calls) {
            assert.ok(index <= calls.length, 'indexes have no gaps');
            calls[index] ??= { id, name, arguments: '' };
            calls[index].arguments += piece;
        }
    }
    assert.equal(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size, 1);
    assert.equal(deltas.filter(({ role }) => role !== undefined).length, 1);
    const reasons = choices.map(({ finish_reason }) => finish_reason).filter((reason) => reason !== null);
    assert.equal(reasons.length, 1);
    return { content: deltas.map(({ content }) => content ?? '').join(''), calls, finish: reasons[0] };
}

const roundOf = (id, ...deltas) => stream(frames(
    chunk({ role: 'assistant', content: '' }, null, { id }), ...deltas.map((delta) => chunk(delta, null, { id })),
    chunk({}, deltas.some(({ tool_calls }) => tool_calls) ? 'tool_calls' : 'stop', { id }), usageChunk(9, 3), '[DONE]'));

describe('the loop', { concurrency: false }, () => {
    const g = sharedGateway({ before, beforeEach, after }, undefined, async () => ({ servers: { fake: await startMcp() } }));
    const server = () => g.options.servers.fake;
    const toolNames = (i) => g.up.requests[i].body.tools.map((tool) => tool.function.name);

    test('a stream of two rounds is one stream', async () => {
        g.up.next(
            roundOf('first', { content: 'Let me see. ' }, { tool_calls: [{ index: 0, ...call(ECHO, { message: 'hi' }) }] }),
            roundOf('second', { content: 'It says ' }, { content: 'hi.' }));
        const got = await post(g, STREAM);
        const chunks = chunksOf(got);
        assert.deepEqual(accumulate(chunks), { content: 'Let me see. It says hi.', calls: [], finish: 'stop' });
        assert.equal(chunks[0].id, 'first');
        assert.ok(chunks.every(({ usage }) => usage === undefined));
        assert.equal(g.up.requests.length, 2);
        assert.deepEqual(server().calls.map(({ name, arguments: given }) => [name, given]), [['echo', { message: 'hi' }]]);
        assert.deepEqual(g.messages, [...REQUEST.messages,
            { role: 'assistant', content: 'Let me see. ', tool_calls: [call(ECHO, { message: 'hi' })] },
            { role: 'tool', tool_call_id: 'c1', content: '["Echo: hi"]' }]);
        await g.daemon.logged(/ turn route=\/v1\/chat\/completions .*status=completed http_status=200 rounds=2 attempts=2 tool_calls=1 input_tokens=18 output_tokens=6/);
    });

    test('a completion of two rounds is the last body, with the tokens of both', async () => {
        const last = { system_fingerprint: 'fp', vendor: [1.5] };
        g.up.next(calling(call(ECHO, { message: 'hi' })), saying('It says hi.', last));
        const got = await post(g, REQUEST);
        const { usage, ...rest } = JSON.parse(saying('It says hi.', last).pieces[0]);
        assert.deepEqual(got.json, { ...rest, usage: { prompt_tokens: 20, completion_tokens: 4, total_tokens: 24 } });
        assert.equal(g.up.requests.length, 2);
        assert.ok(g.up.requests.every(({ body }) => body.stream === undefined && body.stream_options === undefined));
        assert.deepEqual(g.messages.slice(1), [
            { role: 'assistant', content: null, tool_calls: [call(ECHO, { message: 'hi' })] },
            { role: 'tool', tool_call_id: 'c1', content: '["Echo: hi"]' }]);
    });

    test('an answer without calls is what the upstream wrote, byte for byte', async () => {
        const body = '{ "object":"chat.completion",\n "choices":[{"message":{"role":"assistant","content":"é"}}], "x":1.50 }';
        const answer = roundOf('one', { content: 'Hi' });
        answer.pieces = answer.pieces.filter((piece) => !piece.includes('usage'));
        g.up.next(json(200, body, { 'x-vendor': 'v' }), answer);
        const plain = await post(g, REQUEST);
        assert.deepEqual([plain.text, plain.headers['x-vendor']], [body, 'v']);
        assert.equal((await post(g, STREAM)).text, answer.pieces.join(''));
    });

    test('the request is the client\'s with tools added', async () => {
        const own = { type: 'function', function: { name: 'own', parameters: {} } };
        const body = `{ "model":"m", "x": 1.50,"tools":[${JSON.stringify(own)}],\n"messages":[ {"role":"user","content":"\\u0048i"} ] }`;
        g.up.next(saying('Hi'));
        await post(g, body);
        const sent = g.up.requests[0].raw.toString();
        const [head, tail] = body.split(JSON.stringify(own));
        assert.ok(sent.startsWith(head + JSON.stringify(own)) && sent.endsWith(tail), sent);
        const { description, parameters } = g.up.requests[0].body.tools[1].function;
        assert.deepEqual(toolNames(0), ['own', ...['echo', 'add', 'fail', 'hang'].map((name) => shown('fake', name))]);
        assert.equal(description, 'Says it again');
        assert.deepEqual(parameters, server().tools.echo.inputSchema);
    });

    test('a compressed request gets tools as well', async () => {
        g.up.next(saying('Hi'));
        await post(g, gzipSync(JSON.stringify(REQUEST)), { headers: { 'content-encoding': 'gzip' } });
        assert.equal(g.up.requests[0].headers['content-encoding'], undefined);
        assert.equal(g.up.requests[0].body.tools.length, 4);
    });

    for (const [why, body] of [['more than one choice', { ...REQUEST, n: 2 }], ['tool_choice none', { ...REQUEST, tool_choice: 'none' }],
        ['no messages', { model: 'm' }]]) {
        test(`${why}: the request passes as it came`, async () => {
            g.up.next(json(200, { ok: true }));
            assert.deepEqual((await post(g, body)).json, { ok: true });
            assert.deepEqual(g.up.requests.map((request) => request.body), [body]);
        });
    }

    test('text of a later round arrives while the upstream still speaks', async () => {
        let release;
        g.up.next(roundOf('first', { tool_calls: [{ index: 0, ...call(ECHO, {}) }] }), stream([
            ...frames(chunk({ role: 'assistant' }), chunk({ content: 'early' })), new Promise((done) => (release = done)),
            ...frames(chunk({}, 'stop'), '[DONE]')]));
        const exchange = open(g.daemon, STREAM, { path: PATH });
        await exchange.until('early');
        release();
        assert.equal(accumulate(chunksOf(await exchange.done)).content, 'early');
    });

    test('calls of one round run side by side, and their results keep the order of the calls', async () => {
        server().tools = { ...server().tools, wait: async ({ i }) => {
            await server().until(() => server().calls.length === 2);
            return `waited ${i}`;
        } };
        server().changeTools();
        await g.untilTools('fake', (names) => names.includes('wait'));
        const wait = shown('fake', 'wait');
        g.up.next(callStream([wait, { i: 1 }, 'a'], [wait, { i: 2 }, 'b']), textStream('Done.'));
        await post(g, STREAM);
        assert.deepEqual(g.messages.slice(-2), [
            { role: 'tool', tool_call_id: 'a', content: '["waited 1"]' }, { role: 'tool', tool_call_id: 'b', content: '["waited 2"]' }]);
    });

    for (const [name, value, result] of [
        ['fail', '{}', 'Error: It did not work.'],
        ['echo', '{"message":', /^Error: .*arguments/i],
        ['echo', '[]', /^Error: .*arguments/i],
    ]) {
        test(`${name} with ${value} is told to the model as a failure`, async () => {
            g.up.next(rawCall([shown('fake', name), value]), textStream('Sorry.'));
            assert.equal(accumulate(chunksOf(await post(g, STREAM))).content, 'Sorry.');
            assert.match(g.messages.at(-1).content, result instanceof RegExp ? result : new RegExp(`^${result}$`));
            assert.equal(server().calls.length, name === 'fail' ? 1 : 0);
        });
    }

    test('broken arguments are not sent back: a server that parses them goes on', async () => {
        for (const body of [REQUEST, STREAM]) {
            let n = 0;
            const llama = llamaServer(() => ({ text: 'Sorry.' }));
            g.up.always((request) => n++ > 0 ? llama(request) : body.stream ? rawCall([ECHO, '{"message":']) : calling({ id: 'c1', type: 'function', function: { name: ECHO, arguments: '{"message":' } }));
            assert.equal((await post(g, body)).status, 200);
            assert.equal(g.messages.at(-2).tool_calls[0].function.arguments, '{}');
            assert.match(g.messages.at(-1).content, /^Error: .*not valid JSON/);
        }
        await g.daemon.logged(/ turn .*rounds=2 .*history_repairs=1/);
    });

    test('empty arguments are none', async () => {
        g.up.next(rawCall([ECHO, '']), textStream('Done.'));
        await post(g, STREAM);
        assert.deepEqual(server().calls[0].arguments, {});
        assert.equal(g.messages[1].tool_calls[0].function.arguments, '{}');
    });

    test('a call in function_call, of old servers, is run as well', async () => {
        const asked = { name: ECHO, arguments: args({ message: 'hi' }) };
        const [head, tail] = [asked.arguments.slice(0, 5), asked.arguments.slice(5)];
        const end = { choices: [{ index: 0, delta: {}, finish_reason: 'function_call' }] };
        const streamed = stream(frames(
            chunk({ role: 'assistant', content: null, function_call: { name: ECHO, arguments: '' } }),
            chunk({ function_call: { arguments: head } }), chunk({ function_call: { arguments: tail } }), chunk({}, null, end), '[DONE]'));
        for (const [body, first, last] of [[STREAM, streamed, textStream('Done.')],
            [REQUEST, completion({ content: null, function_call: asked }), saying('Done.')]]) {
            g.up.reset();
            server().calls.length = 0;
            g.up.next(first, last);
            const got = await post(g, body);
            assert.equal(body.stream ? accumulate(chunksOf(got)).content : got.json.choices[0].message.content, 'Done.');
            assert.ok(!got.text.includes(ECHO), got.text);
            assert.deepEqual(server().calls.map(({ name, arguments: given }) => [name, given]), [['echo', { message: 'hi' }]]);
            const [, { tool_calls: [{ id }] }, result] = g.messages;
            assert.deepEqual(g.messages.slice(1), [{ role: 'assistant', content: null, tool_calls: [call(ECHO, { message: 'hi' }, id)] },
                { role: 'tool', tool_call_id: id, content: '["Echo: hi"]' }]);
            assert.match(result.tool_call_id, /^call_/);
        }
    });

    test('thinking in parts of the content is told again, in such parts', async () => {
        const part = (words) => ({ type: 'text', text: words });
        const thought = (words) => ({ type: 'thinking', thinking: [part(words)] });
        const calls = { tool_calls: [{ index: 0, ...call(ECHO, { message: 'hi' }) }] };
        for (const [body, first, last] of [
            [STREAM, roundOf('one', { content: [thought('I ')] }, { content: [thought('echo.'), part('Let')] }, { content: ' me.' }, calls), textStream('Done.')],
            [REQUEST, completion({ content: [thought('I echo.'), part('Let me.')], ...calls }), saying('Done.')]]) {
            g.up.reset();
            g.up.next(first, last);
            await post(g, body);
            assert.deepEqual(g.messages[1], { role: 'assistant', content: [thought('I echo.'), part('Let me.')], tool_calls: [call(ECHO, { message: 'hi' })] });
        }
    });

    test('calls of the client\'s tools are returned', async () => {
        g.up.next(roundOf('one', { tool_calls: [{ index: 0, ...call('own', { a: 1 }) }] }), calling(call('own', { a: 1 })));
        const { calls } = accumulate(chunksOf(await post(g, STREAM)));
        assert.deepEqual(calls, [{ id: 'c1', name: 'own', arguments: '{"a":1}' }]);
        assert.equal((await post(g, REQUEST)).text, calling(call('own', { a: 1 })).pieces[0]);
        assert.equal(g.up.requests.length, 2);
    });

    test('of calls of both kinds ours are run and the client\'s are returned', async () => {
        const both = [call(ECHO, { message: 'x' }, 'a'), call('own', { b: 2 }, 'b')];
        g.up.next(roundOf('one', { content: 'I will.' }, { tool_calls: both.map((one, index) => ({ index, ...one })) }), calling(...both));
        const streamed = accumulate(chunksOf(await post(g, STREAM)));
        assert.deepEqual(streamed, { content: 'I will.', calls: [{ id: 'b', name: 'own', arguments: '{"b":2}' }], finish: 'tool_calls' });
        const { choices } = (await post(g, REQUEST)).json;
        assert.deepEqual([choices[0].message.tool_calls, choices[0].finish_reason], [[both[1]], 'tool_calls']);
        assert.equal(server().calls.length, 2);
        assert.equal(g.up.requests.length, 2);
    });

    test('a function of the client keeps its name', async () => {
        const own = { type: 'function', function: { name: ECHO } };
        g.up.next(calling(call(ECHO, {})));
        const { choices } = (await post(g, { ...REQUEST, tools: [own] })).json;
        assert.equal(choices[0].message.tool_calls.length, 1);
        assert.equal(server().calls.length, 0);
        assert.equal(toolNames(0).filter((name) => name === ECHO).length, 1);
        assert.match(toolNames(0)[1], /^mcp__fake__echo__[0-9a-f]{10}$/);
    });

    test('a server that reads tool_choice as a string is sent the forced tool alone', async (t) => {
        const own = { type: 'function', function: { name: 'own' } };
        const strings = await gateway(t, { servers: { fake: await startMcp() }, args: ['--tool-choice-support', 'strings'] });
        const bad = llamaServer(({ messages, tools, mustCall }) => messages.at(-1).role === 'tool' ? { text: 'Done.' }
            : { calls: [[mustCall ? tools[0].function.name : shown('fake', 'fail'), { message: 'x' }, 'c1']] });
        for (const name of [ECHO, 'own']) {
            strings.up.requests = [];
            strings.up.always(bad);
            await post(strings, { ...STREAM, tools: [own], tool_choice: { type: 'function', function: { name } } });
            const [first, second] = strings.up.requests.map(({ body }) => body);
            assert.deepEqual([first.tool_choice, first.tools.map((tool) => tool.function.name)], ['required', [name]]);
            if (name === ECHO)
                assert.deepEqual([second.tool_choice, second.tools.length > 2], ['auto', true]);
        }
        strings.up.next(textStream('Hello'));
        await post(strings, { ...STREAM, tools: [own], tool_choice: { type: 'function', function: { name: 'nobody' } } });
        assert.equal(strings.up.requests.at(-1).body.tool_choice.function.name, 'nobody'); /* the server's to refuse */
    });

    test('a forced choice is auto in later rounds', async () => {
        g.up.next(calling(call(ECHO, {})), saying('Done.'));
        await post(g, { ...REQUEST, tool_choice: { type: 'function', function: { name: ECHO } } });
        assert.deepEqual(g.up.requests.map(({ body }) => body.tool_choice), [{ type: 'function', function: { name: ECHO } }, 'auto']);
    });

    test('another call than the forced one is not run, whatever the server makes of the choice', async () => {
        const own = { type: 'function', function: { name: 'own' } };
        for (const [name, calls] of [[ECHO, [call(shown('fake', 'fail'), {})]], ['own', [call(ECHO, { message: 'x' })]]]) {
            for (const body of [REQUEST, STREAM]) {
                g.up.reset();
                g.up.next(body.stream ? callStream(...calls.map(({ id, function: f }) => [f.name, {}, id])) : calling(...calls), body.stream ? textStream('Done.') : saying('Done.'));
                await post(g, { ...body, tools: [own], tool_choice: { type: 'function', function: { name } } });
                assert.equal(server().calls.length, 0);
                assert.equal(g.messages.at(-1).content, `Error: Not run: the tool to call is ${name}.`);
                assert.equal(g.up.requests.length, 2);
            }
        }
        await g.daemon.logged(/ turn .*rounds=2 .*dropped_calls=1/);
    });

    test('usage is the sum when the client asked for it', async () => {
        g.up.next(callStream([ECHO, {}]), textStream('Done.'));
        const chunks = chunksOf(await post(g, { ...STREAM, stream_options: { include_usage: true, x: 1 } }));
        assert.deepEqual(chunks.flatMap(({ usage }) => usage ?? []), [{ prompt_tokens: 29, completion_tokens: 6, total_tokens: 35 }]);
        assert.deepEqual(g.up.requests.map(({ body }) => body.stream_options), Array(2).fill({ include_usage: true, x: 1 }));
    });

    test('reasoning of nothing but null is left out', async () => {
        g.up.next(completion({ content: 'a', reasoning: null, reasoning_content: null }));
        assert.deepEqual((await post(g, REQUEST)).json.choices[0].message, { role: 'assistant', content: 'a' });
    });

    test('a wish for reasoning of nothing but null is not sent on', async () => {
        g.up.next(calling(call(ECHO, { message: 'hi' })), saying('It says hi.'));
        await post(g, { ...REQUEST, reasoning: { effort: null, summary: null } });
        assert.deepEqual(g.up.requests.map(({ body }) => 'reasoning' in body), [false, false]);
        g.up.next(saying('Hi'));
        await post(g, { ...REQUEST, reasoning: { effort: 'low', summary: null } });
        assert.deepEqual(g.up.requests[2].body.reasoning, { effort: 'low', summary: null });
    });

    test('the upstream is asked on one connection', async () => {
        g.up.next(callStream([ECHO, {}]), textStream('Done.'));
        const before = g.up.connections;
        await post(g, STREAM);
        assert.ok(g.up.connections - before <= 1);
    });

    test('an idempotency key goes with the first round only', async () => {
        g.up.next(callStream([ECHO, {}]), textStream('Done.'));
        await post(g, STREAM, { headers: { 'idempotency-key': 'k' } });
        assert.deepEqual(g.up.requests.map(({ headers }) => headers['idempotency-key']), ['k', undefined]);
    });

    for (const body of [STREAM, REQUEST]) {
        const how = body.stream ? 'streaming' : 'not streaming';

        test(`an error of the first round passes as it is, ${how}`, async () => {
            g.up.next(failure(429, 'slow down', { vendor: 1 }, { 'retry-after': '3' }));
            const got = await post(g, body);
            assert.deepEqual([got.status, got.headers['retry-after'], got.json.error.message, got.json.error.vendor], [429, '3', 'slow down', 1]);
        });

        test(`a client that leaves ends the tools, ${how}`, async () => {
            g.up.next(body.stream ? callStream([shown('fake', 'hang'), {}]) : calling(call(shown('fake', 'hang'), {})));
            const exchange = open(g.daemon, body, { path: PATH });
            await server().called(1);
            exchange.destroy();
            await server().until(() => server().cancelled.length === 1 || server().calls[0].gone);
            assert.equal(g.up.requests.length, 1);
        });
    }

    test('an error of a later round passes as it is when nothing has been said', async () => {
        g.up.next(calling(call(ECHO, {})), failure(400, 'too long'));
        const got = await post(g, REQUEST);
        assert.deepEqual([got.status, got.json.error.message], [400, 'too long']);
    });

    test('an error of a later round ends a stream with an error', async () => {
        g.up.next(roundOf('a', { content: 'Wait. ' }, { tool_calls: [{ index: 0, ...call(ECHO, {}) }] }), failure(503, 'busy'));
        const chunks = chunksOf(await post(g, STREAM));
        const { error } = chunks.pop();
        assert.deepEqual([error.code, error.type, error.param], ['server_is_overloaded', 'server_error', null]);
        assert.match(chunks.map(({ choices }) => choices[0].delta.content ?? '').join(''), /^Wait\. $/);
    });

    test('a stream that breaks ends with an error', async () => {
        g.up.next(stream([...frames(chunk({ content: 'first' })), 50, CLOSE]));
        const chunks = chunksOf(await post(g, STREAM));
        assert.equal(chunks.pop().error.code, 'upstream_error');
    });

    test('a client that leaves while the model speaks ends the upstream call', async () => {
        g.up.next(stream([...frames(chunk({ content: 'first' })), SILENT]));
        const exchange = open(g.daemon, STREAM, { path: PATH });
        await exchange.until('first');
        exchange.destroy();
        await (await g.up.request(0)).closed;
    });
});

describe('settings', () => {
    const one = async (t, ...more) => gateway(t, { servers: { fake: await startMcp() }, args: more });

    test('max_tool_rounds ends the loop with an error', async (t) => {
        const g = await one(t, '--max-tool-rounds', '2');
        g.up.always(({ body }) => (body.stream ? callStream([ECHO, {}]) : calling(call(ECHO, {}))));
        const error = checkError(await post(g, REQUEST), 500, 'tool_iteration_limit');
        assert.equal(error.type, 'server_error');
        assert.equal(g.up.requests.length, 2);
        const chunks = chunksOf(await post(g, STREAM));
        assert.equal(chunks.pop().error.code, 'tool_iteration_limit');
        assert.equal(g.up.requests.length, 4);
    });

    test('chat_tools off: everything passes as it came', async (t) => {
        const g = await one(t, '--chat-tools', 'off');
        const answer = callStream([ECHO, {}]);
        g.up.next(answer);
        assert.equal((await post(g, STREAM)).text, answer.pieces.join(''));
        assert.deepEqual(g.up.requests.map(({ body }) => body), [STREAM]);
    });

    test('chat_tools injected: only servers that are injected everywhere', async (t) => {
        const [quiet, loud] = [await startMcp(), await startMcp()];
        const g = await gateway(t, { servers: { quiet, loud: { ...loud.entry, inject: 'always' } }, args: ['--chat-tools', 'injected'] });
        t.after(() => loud.close());
        await post(g, REQUEST);
        assert.ok(g.up.requests[0].body.tools.every((tool) => tool.function.name.startsWith('mcp__loud__')));
    });

    test('chat_tool_rounds hide: only the last round is seen', async (t) => {
        const g = await one(t, '--chat-tool-rounds', 'hide');
        g.up.next(roundOf('a', { content: 'Hm. ' }, { tool_calls: [{ index: 0, ...call(ECHO, {}) }] }), roundOf('b', { content: 'Done.' }));
        assert.equal(accumulate(chunksOf(await post(g, STREAM))).content, 'Done.');
        assert.equal(g.messages[1].content, 'Hm. ');
    });

    test('chat_results text: the model gets the text', async (t) => {
        const g = await one(t, '--chat-results', 'text');
        g.up.next(calling(call(ECHO, { message: 'x' })), saying('Done.'));
        await post(g, REQUEST);
        assert.equal(g.messages.at(-1).content, 'Echo: x');
    });

    test('chat_unknown_tools error: the model hears that there is no such tool', async (t) => {
        const g = await one(t, '--chat-unknown-tools', 'error');
        g.up.next(calling(call('none', {}, 'a'), call(ECHO, { message: 'x' }, 'b')), saying('Done.'));
        assert.equal((await post(g, REQUEST)).json.choices[0].message.content, 'Done.');
        assert.deepEqual(g.messages.slice(-2).map(({ content }) => content), ['{"error":"Tool \'none\' is not a registered MCP tool."}', '["Echo: x"]']);
    });

    test('mcp_tool_names bare: tools have their own names', async (t) => {
        const g = await one(t, '--mcp-tool-names', 'bare');
        g.up.next(calling(call('echo', { message: 'x' })), saying('Done.'));
        await post(g, REQUEST);
        assert.equal(g.messages.at(-1).content, '["Echo: x"]');
    });

    test('a model has another name upstream in every round', async (t) => {
        const g = await one(t, '--model-alias', 'gpt-4o=qwen3');
        g.up.next(calling(call(ECHO, {})), saying('Done.'));
        await post(g, { ...REQUEST, model: 'gpt-4o' });
        assert.deepEqual(g.up.requests.map(({ body }) => body.model), ['qwen3', 'qwen3']);
    });

    test('include_usage off: the upstream is not asked for it', async (t) => {
        const g = await one(t, '--include-usage=false');
        g.up.next(textStream('Hi'));
        await post(g, STREAM);
        assert.equal(g.up.requests[0].body.stream_options, undefined);
    });

    test('tools that need an approval are not offered', async (t) => {
        const server = await startMcp();
        const g = await gateway(t, { servers: { fake: { ...server.entry, requireApproval: { always: { tool_names: ['add'] }, never: { tool_names: ['echo'] } } } } });
        t.after(() => server.close());
        await post(g, REQUEST);
        assert.deepEqual(g.up.requests[0].body.tools.map((tool) => tool.function.name), [ECHO]);
    });

    test('without a server everything passes as it came', async (t) => {
        const g = await gateway(t, { servers: { gone: { url: 'http://127.0.0.1:1/mcp' } }, wait: false });
        await post(g, STREAM);
        assert.deepEqual(g.up.requests.map(({ body }) => body), [STREAM]);
    });

    test('a stream has heartbeats while tools run', async (t) => {
        let release;
        const server = await startMcp({ tools: { slow: () => new Promise((done) => (release = done)) } });
        const g = await gateway(t, { servers: { fake: server }, args: ['--heartbeat-interval', '20ms'] });
        g.up.next(roundOf('a', { content: 'Wait.' }, { tool_calls: [{ index: 0, ...call(shown('fake', 'slow'), {}) }] }), roundOf('b', { content: ' Done.' }));
        const exchange = open(g.daemon, STREAM, { path: PATH });
        await server.called(1);
        await exchange.until(() => (exchange.text.match(/: heartbeat\n\n/g) ?? []).length >= 2);
        release([text('x')]);
        assert.equal(accumulate(chunksOf(await exchange.done)).content, 'Wait. Done.');
    });

    test('a gateway that stops ends what waits for a tool with an error', async (t) => {
        const server = await startMcp({ tools: { hang: () => HANG, failed: () => failed('x') } });
        const g = await gateway(t, { servers: { fake: server }, args: ['--drain-timeout', '100ms'] });
        const hang = shown('fake', 'hang');
        g.up.next(callStream([hang, {}]), calling(call(hang, {})));
        const streamed = open(g.daemon, STREAM, { path: PATH });
        await server.called(1);
        const plain = open(g.daemon, REQUEST, { path: PATH });
        await server.called(2);
        await g.close();
        assert.equal(chunksOf(await streamed.done).pop().error.code, 'server_is_overloaded');
        checkError(await plain.done, 503, 'server_is_overloaded');
        g.close = async () => {};
    });
});
