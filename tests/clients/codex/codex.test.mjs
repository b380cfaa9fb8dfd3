/* codex.test.mjs -- the Codex CLI does its work with a scripted model.
 *
 * Codex is unmodified and so are its defaults, retries included. What it did is
 * read from the files it left, from its own report and from the bytes between
 * it and the gateway.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../../lib/check.mjs';
import { shared } from '../../lib/daemon.mjs';
import { CLOSE, callStream, chunk, failure, frames, stream, textStream } from '../../lib/upstream.mjs';
import { Desk, itemsOf } from './codex.mjs';

const captures = new Captures();
const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

/* These names make Codex declare other tools than it does for unknown ones. */
const WITH_APPLY_PATCH = 'gpt-5.5';
const WITH_CODE_MODE = 'gpt-5.6-sol';

const shell = (cmd, id) => callStream(['exec_command', { cmd }, id]);

/* A call of the tool whose name, as the upstream sees it, ends like this. */
const callOf = (ending, args, id) => ({ body }) => callStream([toolNames(body).find((name) => name.endsWith(ending)), args, id]);
const toolNames = (chatRequest) => chatRequest.tools.map((tool) => tool.function.name);

/* The conversation without what Codex says of its surroundings: it says it anew
 * when they change, also in the middle of a turn (at midnight, the date). */
const saidIn = (chatRequest) => chatRequest.messages.filter((m) => !String(m.content).startsWith('<environment_context>'));

const sentBy = (exchange) => JSON.parse(exchange.sent);
const messages = (events) => itemsOf(events, 'agent_message').map((item) => item.text);
const toolOutput = (chatRequest) => chatRequest.messages.findLast((m) => m.role === 'tool')?.content;

function checkStreams({ exchanges, outside, log }) {
    assert.deepEqual(outside, [], 'Codex spoke to nobody else');
    for (const { path, status, bytes } of exchanges) {
        assert.equal(path, '/v1/responses', log);
        if (status === 200) {
            captures.keep('codex.sse', bytes);
            checkStream(bytes.toString());
        }
    }
}

const statuses = ({ exchanges }) => exchanges.map((exchange) => exchange.status);

/* A run that went well: every request was answered, with a sound stream. */
async function succeed(desk, ...args) {
    const got = await desk.exec(...args);
    assert.equal(got.status, 0, got.log);
    assert.ok(got.exchanges.length > 0 && statuses(got).every((status) => status === 200), `${statuses(got)}`);
    checkStreams(got);
    return got;
}

describe('codex', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    test('makes a file with the shell, looks at it and answers', async (t) => {
        const desk = new Desk(t, both.daemon);
        both.up.next(shell('echo hello > made.txt', 'call_1'), shell('cat made.txt', 'call_2'), textStream('All done.', { reasoning: 'It is there.' }));
        const { events, exchanges } = await succeed(desk, 'Make a file.');
        assert.equal(desk.read('made.txt'), 'hello\n');
        assert.deepEqual(itemsOf(events, 'command_execution').map((item) => item.exit_code), [0, 0]);
        assert.match(toolOutput(both.up.requests[2].body), /hello/);
        assert.deepEqual(messages(events), ['All done.']);
        assert.deepEqual(itemsOf(events, 'reasoning').map((item) => item.text), ['It is there.']);
        assert.equal(exchanges.length, 3);
        assert.equal(events.at(-1).type, 'turn.completed');
        assert.deepEqual([events.at(-1).usage.input_tokens, events.at(-1).usage.output_tokens], [20 + 20 + 9, 5 + 5 + 2], 'it adds up all rounds');
    });

    test('gets the output of parallel calls', async (t) => {
        const desk = new Desk(t, both.daemon);
        both.up.next(callStream(['exec_command', { cmd: 'echo first' }, 'call_1'], ['exec_command', { cmd: 'echo second' }, 'call_2']), textStream('Done.'));
        await succeed(desk, 'Do two things.');
        const [calls, one, two] = saidIn(both.up.requests[1].body).slice(-3);
        assert.deepEqual(calls.tool_calls.map((call) => call.id), ['call_1', 'call_2']);
        assert.deepEqual([one.tool_call_id, two.tool_call_id], ['call_1', 'call_2']);
        assert.match(one.content, /first/);
        assert.match(two.content, /second/);
    });

    test('function, custom and hosted tools in one request: a patch changes a file', async (t) => {
        const desk = new Desk(t, both.daemon, { model: WITH_APPLY_PATCH });
        desk.write('poem.txt', 'roses are red\n');
        both.up.next(callOf('apply_patch', { input: '*** Begin Patch\n*** Update File: poem.txt\n@@\n-roses are red\n+violets "are" blue\n*** End Patch\n' }), textStream('Patched.'));
        const { events, exchanges } = await succeed(desk, 'Change the poem.');
        assert.equal(desk.read('poem.txt'), 'violets "are" blue\n');
        assert.deepEqual(itemsOf(events, 'file_change').map((item) => item.status), ['completed']);
        const types = new Set(sentBy(exchanges[0]).tools.map((tool) => tool.type));
        assert.deepEqual(['function', 'custom', 'web_search'].filter((type) => !types.has(type)), []);
        const sent = sentBy(exchanges[1]).input.map((item) => item.type).filter((type) => type !== 'message');
        assert.deepEqual(sent, ['custom_tool_call', 'custom_tool_call_output']);
        assert.match(toolOutput(both.up.requests[1].body), /Success/);
    });

    test('tools of a namespace start a second agent and wait for it', async (t) => {
        const desk = new Desk(t, both.daemon);
        const steps = [callOf('spawn_agent', { message: 'Do a small part.' }),
            (request) => callOf('wait_agent', { targets: [JSON.parse(toolOutput(request.body)).agent_id] }, 'call_2')(request),
            () => textStream('Both done.')];
        const ofSecond = ({ messages: said }) => said.at(-1).content.includes?.('a small part');
        both.up.always((request) => ofSecond(request.body) ? textStream('Small part done.') : steps.shift()(request));
        const { events, exchanges } = await succeed(desk, 'Share the work.');
        const types = new Set(sentBy(exchanges[0]).tools.map((tool) => tool.type));
        assert.deepEqual(['function', 'namespace', 'web_search'].filter((type) => !types.has(type)), []);
        assert.deepEqual(itemsOf(events, 'collab_tool_call').map((item) => [item.tool, item.status]), [['spawn_agent', 'completed'], ['wait', 'completed']]);
        assert.match(toolOutput(both.up.requests.at(-1).body), /Small part done/);
        assert.deepEqual(messages(events), ['Both done.']);
    });

    test('tools declared in the input: a script runs the shell', async (t) => {
        const desk = new Desk(t, both.daemon, { model: WITH_CODE_MODE });
        both.up.next(callOf('exec', { input: 'text(await tools.exec_command({ cmd: "echo hello > made.txt; cat made.txt" }));' }), textStream('Done.'));
        const { exchanges } = await succeed(desk, 'Make a file.');
        assert.equal(sentBy(exchanges[0]).tools, undefined);
        assert.equal(sentBy(exchanges[0]).input[0].type, 'additional_tools');
        assert.equal(desk.read('made.txt'), 'hello\n');
        assert.match(toolOutput(both.up.requests[1].body), /hello/);
    });

    test('a picture and an output schema reach the upstream', async (t) => {
        const desk = new Desk(t, both.daemon);
        const schema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'], additionalProperties: false };
        desk.write('schema.json', JSON.stringify(schema));
        writeFileSync(desk.path('pixel.png'), PIXEL);
        both.up.next(textStream('{"colour":"red"}'));
        const { events } = await succeed(desk, '--output-schema', 'schema.json', '-i', 'pixel.png', '--', 'Which colour?');
        assert.deepEqual(messages(events), ['{"colour":"red"}']);
        const { response_format, messages: said } = both.up.requests[0].body;
        assert.deepEqual([response_format.type, response_format.json_schema.schema, response_format.json_schema.strict], ['json_schema', schema, true]);
        const pictures = said.at(-1).content.filter((part) => part.type === 'image_url').map((part) => part.image_url.url);
        assert.deepEqual(pictures.map((url) => url.split(',')[0]), ['data:image/png;base64']);
    });

    test('a session that is resumed has its history', async (t) => {
        const desk = new Desk(t, both.daemon);
        both.up.next(shell('echo one', 'call_1'), textStream('First.', { reasoning: 'Easy.' }));
        await succeed(desk, 'Begin.');
        both.up.next(textStream('Second.'));
        const { events } = await succeed(desk, 'resume', '--last', 'Go on.');
        assert.deepEqual(messages(events), ['Second.']);
        const said = saidIn(both.up.requests.at(-1).body).slice(-5);
        assert.deepEqual(said.map((m) => m.role), ['user', 'assistant', 'tool', 'assistant', 'user']);
        assert.deepEqual([said[1].tool_calls[0].id, said[3].content, said[4].content], ['call_1', 'First.', 'Go on.']);
    });

    /* [what goes wrong, answers of the upstream, status the client sees of each] */
    const busy = (headers) => failure(503, 'busy', {}, headers);
    for (const [what, answers, seen] of [
        ['503', [busy()], [503]],
        ['503 twice, with Retry-After', [busy({ 'retry-after': '1' }), busy({ 'retry-after': '1' })], [503, 503]],
        ['429 with Retry-After', [failure(429, 'slow down', {}, { 'retry-after': '1' })], [429]],
        ['500', [failure(500, 'oops')], [502]],
        ['an answer that breaks off', [stream([...frames(chunk({ content: 'All' })), CLOSE])], [200]],
        ['a rate limit in the middle', [stream([...frames(chunk({ content: 'All' }), { error: { message: 'slow down', code: 429 } }), CLOSE])], [200]],
    ]) {
        test(`finishes after ${what}`, async (t) => {
            const desk = new Desk(t, both.daemon);
            both.up.next(shell('echo hello >> made.txt', 'call_1'), ...answers, textStream('All done.'));
            const got = await desk.exec('Make a file.');
            assert.equal(got.status, 0, got.log);
            checkStreams(got);
            assert.deepEqual(statuses(got), [200, ...seen, 200]);
            assert.equal(desk.read('made.txt'), 'hello\n', 'the command ran once');
            assert.equal(messages(got.events).at(-1), 'All done.');
        });
    }

    test('finishes after 503 behind the head of the stream', async (t) => {
        const desk = new Desk(t, both.daemon);
        const tap = await desk.tap;
        both.up.next(async () => (await tap.answered(0), busy()), textStream('All done.'));
        const { events } = await succeed(desk, 'Say something.');
        assert.deepEqual(messages(events), ['All done.']);
        assert.equal(both.up.requests.length, 2);
    });

    /* What no retry can help is told once, at once. */
    for (const [answer, status, message] of [
        [failure(400, 'This model has a maximum context length of 10 tokens.', { code: 'context_length_exceeded' }), 400, /context window/],
        [failure(400, 'bad thing'), 400, /bad thing/],
        [failure(429, 'You exceeded your current quota', { code: 'insufficient_quota' }), 429, /[Qq]uota/],
    ]) {
        test(`gives up at once: ${message}`, async (t) => {
            both.up.always(answer);
            const got = await new Desk(t, both.daemon).exec('Say something.');
            assert.equal(got.status, 1, got.log);
            assert.deepEqual(statuses(got), [status]);
            assert.deepEqual(got.events.filter((e) => e.type === 'turn.failed').map((e) => message.test(e.error.message)), [true], got.log);
        });
    }

    /* Codex compresses only for those who are logged in at ChatGPT; the login is
     * made up. It then looks for ChatGPT, too, which the tap refuses. */
    test('a request compressed with zstd is served', async (t) => {
        const desk = new Desk(t, both.daemon, { provider: 'OpenAI', auth: madeUpLogin() });
        both.up.always(({ path }) => path.includes('/models') ? failure(404, 'no list') : textStream('All done.'));
        const got = await desk.exec('Say something.');
        const asked = got.exchanges.filter(({ path }) => path === '/v1/responses');
        assert.ok(asked.length > 0 && asked.every(({ headers }) => headers['content-encoding'] === 'zstd'), got.log);
        assert.equal(got.status, 0, got.log);
        assert.deepEqual(messages(got.events), ['All done.']);
        checkStreams({ ...got, exchanges: asked, outside: [] });
    });
});

function madeUpLogin() {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const account = { chatgpt_plan_type: 'pro', chatgpt_user_id: 'user', chatgpt_account_id: 'account' };
    const token = [{ alg: 'none', typ: 'JWT' }, { email: 'somebody@example.org', exp: 4102444800, 'https://api.openai.com/auth': account }, 'unsigned'].map(part).join('.');
    return {
        auth_mode: 'chatgpt',
        tokens: { id_token: token, access_token: token, refresh_token: 'none', account_id: 'account' },
        last_refresh: new Date().toISOString(),
    };
}

captures.judge(test);
