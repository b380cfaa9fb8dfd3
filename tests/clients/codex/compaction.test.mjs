/* compaction.test.mjs -- the Codex CLI in sessions that are longer than its model's context, over HTTP
 * and WebSocket.
 *
 * The model reports more tokens than Codex may use, so that Codex compacts after each call of a tool:
 * by asking the gateway (`compaction_trigger`) when its provider is named "OpenAI", else with a prompt of
 * its own. Either way the model has to find afterwards what was known before.
 */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkStream } from '../../lib/check.mjs';
import { shared } from '../../lib/daemon.mjs';
import { chunk, frames, json, stream, usageChunk } from '../../lib/upstream.mjs';
import { Desk, itemsOf } from './codex.mjs';

const captures = new Captures();
const LIMIT = 20_000;
const OVER = LIMIT + 1_000, UNDER = 1_000;

/* Of the user, of a tool's output, and of what the model decided. */
const SECRET = 'plum-7731', DECISION = 'Decided: port 4711, file made.txt.';

const spoken = (text, tokens) => stream(frames(chunk({ role: 'assistant', content: text }), chunk({}, 'stop'), usageChunk(tokens, 9), '[DONE]'));
const shell = (cmd, id, tokens) => stream(frames(
    chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name: 'exec_command', arguments: JSON.stringify({ cmd }) } }] }),
    chunk({}, 'tool_calls'), usageChunk(tokens, 9), '[DONE]'));

/* Asked to sum up, by the gateway's words or by Codex's own? */
const lastOf = ({ messages }) => JSON.stringify(messages.at(-1));
const asksForSummary = (body) => /about to be replaced by a summary|CONTEXT CHECKPOINT COMPACTION/.test(lastOf(body));

/* A model that works until it has answered, and sums up when it is asked to. */
function play(up, over = OVER) {
    const steps = [shell('echo one-901 > made.txt; cat made.txt', 'call_1', over), shell('cat made.txt; echo two-902', 'call_2', over), spoken('All done.', UNDER)];
    const seen = { summaries: [], after: [] };
    up.always(({ body }) => {
        if (asksForSummary(body)) {
            seen.summaries.push(body);
            return spoken(`Summary ${seen.summaries.length}. ${DECISION}`, OVER);
        }
        if (seen.summaries.length > seen.after.length)
            seen.after.push(body);
        return steps.shift() ?? spoken('Again.', UNDER);
    });
    return seen;
}

function checkSession(got, desk, seen) {
    assert.equal(got.status, 0, got.log);
    assert.deepEqual(itemsOf(got.events, 'agent_message').map(({ text }) => text).at(-1), 'All done.', got.log);
    assert.equal(desk.read('made.txt'), 'one-901\n');
    assert.equal(seen.summaries.length, 2, 'it compacted twice');
    assert.match(JSON.stringify(seen.summaries[0].messages), /one-901/, 'what is summed up has the output of the first call');
    assert.match(JSON.stringify(seen.summaries[1].messages), /two-902/, 'and then of the second');
    seen.after.forEach(({ messages }, i) => {
        const text = JSON.stringify(messages);
        assert.match(text, new RegExp(SECRET), `the user's words are there after compaction ${i + 1}`);
        assert.match(text, new RegExp(`Summary ${i + 1}\\. ${DECISION}`), `so is the summary ${i + 1}`);
        assert.doesNotMatch(text, /one-901/, 'and what it stands for is not');
    });
    assert.equal(seen.after.length, 2);
}

const limits = `model_context_window = 40000\nmodel_auto_compact_token_limit = ${LIMIT}\n`;
const ask = (desk) => desk.exec(`Write a file. The secret is ${SECRET}.`);

describe('codex compacts twice', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after });

    for (const [provider, types] of [['Antiphon', ['message']], ['OpenAI', ['compaction']]]) {
        test(`over HTTP, with a provider named ${provider}`, async (t) => {
            const desk = new Desk(t, both.daemon, { provider, top: limits });
            const seen = play(both.up);
            const got = await ask(desk);
            checkSession(got, desk, seen);
            assert.equal(got.sockets.length, 0);
            const summaries = got.exchanges.filter(({ sent }) => /compaction_trigger|CONTEXT CHECKPOINT/.test(JSON.stringify(JSON.parse(sent).input.at(-1))));
            assert.equal(summaries.length, 2);
            for (const { bytes } of summaries) {
                const { output } = checkStream(bytes.toString()).response;
                assert.deepEqual(output.map((item) => item.type), types);
            }
            for (const { bytes, path } of got.exchanges.filter(({ method }) => method === 'POST')) {
                assert.equal(path, '/v1/responses');
                captures.keep('codex_compaction.sse', bytes);
            }
        });
    }

    for (const provider of ['Antiphon', 'OpenAI']) {
        test(`over WebSocket, with a provider named ${provider}`, async (t) => {
            const desk = new Desk(t, both.daemon, { provider, top: limits, more: 'supports_websockets = true\n' });
            const seen = play(both.up);
            const got = await ask(desk);
            checkSession(got, desk, seen);
            assert.deepEqual(got.exchanges.map(({ method, path }) => `${method} ${path}`), [], 'nothing went over HTTP');
            assert.ok(got.sockets.length > 0 && got.sockets.every(({ status }) => status === 101), 'all connections were taken');
            const said = (direction, type) => got.sockets.flatMap((socket) => socket.frames).filter(({ dir, frame }) => dir === direction && frame?.type === type);
            const asked = said('in', 'response.create');
            assert.equal(said('out', 'response.completed').length, asked.length, 'every request was answered to its end');
            assert.equal(asked[0].frame.generate, false, 'it warms up first');
            assert.ok(asked.some(({ frame }) => frame.previous_response_id !== undefined), 'and goes on from there');
            for (const { frames: transcript } of got.sockets)
                captures.keep('codex_compaction.jsonl', transcript.map((line) => JSON.stringify(line)).join('\n') + '\n');
        });
    }
});

describe('codex with the catalogue of the gateway', { concurrency: false }, () => {
    const WINDOW = 32_768;
    const both = shared({ before, beforeEach, after }, '--model-settings', `test-model context_window=${WINDOW}`);

    /* By hand nothing is told of the window: Codex would believe in 272,000 tokens. */
    test('knows the window, and compacts before it is full', async (t) => {
        both.up.always(() => json(200, { object: 'list', data: [{ id: 'test-model', object: 'model' }] }));
        const catalogue = await (await fetch(`${both.daemon.origin}/v1/models?client_version=0.169.0`)).text();
        const desk = new Desk(t, both.daemon, { provider: 'OpenAI' });
        desk.options.top = `model_catalog_json = "${desk.keep('catalogue.json', catalogue)}"\n`;
        const seen = play(both.up, Math.ceil(WINDOW * 0.82));
        const got = await ask(desk);
        checkSession(got, desk, seen);
        assert.doesNotMatch(got.log, /Model metadata for .* not found/);
    });
});

captures.judge(test);
