/* truncation.test.mjs -- `truncation: auto` leaves the oldest turns out when the
 * upstream says that there is too much (CONTRACT 1.1).
 */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { shared, startDaemon } from '../lib/daemon.mjs';
import { llamaServer, tokensOf } from '../lib/llama_server.mjs';
import { chunk, failure, frames, stream, textStream } from '../lib/upstream.mjs';

const captures = new Captures();

const TOO_LONG = failure(400, 'too much', { code: 'context_length_exceeded' });
const TOO_LONG_IN_STREAM = stream(frames({ error: { message: 'too much', code: 'context_length_exceeded' } }));

const turns = (n) => Array.from({ length: n }, (_, i) => [
    { role: 'user', content: `question ${i}` },
    { role: 'assistant', content: `answer ${i}` },
]).flat();

const request = (more = {}) => ({
    model: 'm', instructions: 'Be brief.', truncation: 'auto',
    input: [...turns(8), { role: 'user', content: 'the last question' }], ...more,
});

describe('truncation', { concurrency: false }, () => {
    const t = shared({ before, beforeEach, after });

    const sent = () => t.up.requests.map((r) => r.body.messages.map((m) => m.content));

    for (const streamed of [false, true]) {
        for (const [where, refusal] of [['by status', TOO_LONG], ['inside the stream', TOO_LONG_IN_STREAM]]) {
            test(`the oldest turns go when the upstream refuses ${where}${streamed ? ', streamed' : ''}`, async () => {
                t.up.next(refusal, refusal, textStream('Fits.'));
                const got = await ask(t.daemon, request({ stream: streamed }));
                const name = `${where}.${streamed ? 'sse' : 'json'}`;
                captures.keep(name, got.bytes);
                const response = streamed ? checkStream(got.text).response : got.json;
                assert.equal(response.status, 'completed');
                assert.equal(response.output[0].content[0].text, 'Fits.');
                assert.equal(response.truncation, 'auto');
                assert.deepEqual(sent().map((m) => m.length), [18, 10, 6]);
                for (const messages of sent()) {
                    assert.equal(messages[0], 'Be brief.');
                    assert.equal(messages.at(-1), 'the last question');
                }
                assert.deepEqual(sent()[2].slice(1, 3), ['question 6', 'answer 6']);
                await t.daemon.logged(/ shortened=2 /);
            });
        }
    }

    test('after three attempts the error is the client\'s', async () => {
        t.up.always(TOO_LONG);
        const got = await ask(t.daemon, request());
        captures.keep('given up.json', got.bytes, '--kind', 'error');
        checkError(got, 400, 'context_length_exceeded');
        assert.deepEqual(sent().map((m) => m.length), [18, 10, 6, 2]);
    });

    test('nothing to leave out: asked once', async () => {
        t.up.always(TOO_LONG);
        checkError(await ask(t.daemon, request({ input: 'one long question' })), 400, 'context_length_exceeded');
        assert.equal(t.up.requests.length, 1);
    });

    test('disabled, which is the default: asked once', async () => {
        t.up.always(TOO_LONG);
        for (const truncation of ['disabled', undefined])
            checkError(await ask(t.daemon, request({ truncation })), 400, 'context_length_exceeded');
        assert.equal(t.up.requests.length, 2);
    });

    test('another error is not a reason to ask again', async () => {
        t.up.always(failure(400, 'temperature is too hot'));
        checkError(await ask(t.daemon, request()), 400, 'upstream_rejected');
        assert.equal(t.up.requests.length, 1);
    });

    test('what has been said already is not taken back', async () => {
        t.up.always(stream(frames(chunk({ content: 'Half' }), { error: { message: 'too much', code: 'context_length_exceeded' } })));
        const got = await ask(t.daemon, request({ stream: true }));
        captures.keep('half.sse', got.bytes);
        assert.equal(checkStream(got.text).response.status, 'failed');
        assert.equal(t.up.requests.length, 1);
    });

    test('a call and its output are left out together', async () => {
        t.up.next(TOO_LONG, textStream('Fits.'));
        await ask(t.daemon, request({ input: [
            { role: 'user', content: 'look' },
            { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
            { type: 'function_call_output', call_id: 'call_1', output: 'seen' },
            { role: 'user', content: 'and now?' }] }));
        assert.deepEqual(t.up.requests[1].body.messages.map((m) => m.role), ['system', 'user']);
    });
});

/* ---- a window of so many tokens, and a server that counts */

const WINDOW = 2048;
const filler = (i, n) => `${i} `.padEnd(n, 'lorem ipsum dolor sit amet ');
const longTurns = (n, length) => Array.from({ length: n }, (_, i) => [
    { role: 'user', content: filler(i, length) }, { role: 'assistant', content: filler(i, length) }]).flat();

const textOf = ({ output }) => output.at(-1).content[0].text;

/* The text of messages without its closing bracket, as the next body has to begin with it. */
const messagesText = ({ raw }) => {
    const text = raw.toString();
    const from = text.indexOf('"messages":[');
    let depth = 0, inString = false;
    for (let i = from + '"messages":'.length; ; i++) {
        if (inString)
            i += text[i] === '\\', inString = text[i] !== '"' || text[i - 1] === '\\';
        else if (text[i] === '"')
            inString = true;
        else if (text[i] === '[' || text[i] === '{')
            depth++;
        else if ((text[i] === ']' || text[i] === '}') && --depth === 0)
            return text.slice(0, i);
    }
};

/* [what, how a turn is asked, given the history and the answers so far] */
const CONTINUED = [
    ['by the whole history', (history) => ({ input: history })],
    ['by previous_response_id', (history, last) => last === undefined ? { input: history } : { previous_response_id: last.id, input: [history.at(-1)] }],
];

/* What a server does that counts is in token_counts.test.mjs. */
describe('a window that the server tells', { concurrency: false }, () => {
    const t = shared({ before, beforeEach, after }, '--count-by', 'off');
    const model = () => ({ text: 'It is so, I say.' });
    const isAccepted = (tokens) => tokens < WINDOW;
    const accepted = () => t.up.requests.filter(({ body }) => isAccepted(tokensOf(body.messages)));

    for (const [what, next] of CONTINUED) {
        for (const stream of [false, true]) {
            test(`one retry keeps as much as fits, and ten turns keep their beginning, ${what}${stream ? ', streamed' : ''}`, async () => {
                t.up.always(llamaServer(model, { window: WINDOW }));
                const history = [{ role: 'system', content: `Be brief. ${what} ${stream}` }, ...longTurns(400, 60)];
                let last;
                for (let turn = 0; turn <= 10; turn++) {
                    history.push({ role: 'user', content: `Question ${turn}?` });
                    const got = await ask(t.daemon, { model: `m ${what} ${stream}`, truncation: 'auto', stream, ...next(history, last) });
                    captures.keep(`window.${stream ? 'sse' : 'json'}`, got.bytes);
                    last = stream ? checkStream(got.text).response : got.json;
                    assert.equal(last.status, 'completed', got.text);
                    history.push({ role: 'assistant', content: textOf(last) });
                    if (turn === 0) {
                        assert.ok(tokensOf(t.up.requests[0].body.messages) > 14_000, 'the history is long');
                        assert.equal(t.up.requests.length, 2, 'one retry');
                        const kept = tokensOf(t.up.requests[1].body.messages);
                        assert.ok(kept >= 1700 && isAccepted(kept), `${kept} tokens are kept`);
                    }
                }
                const sent = accepted().map(messagesText);
                assert.equal(sent.length, 11);
                for (let turn = 1; turn <= 10; turn++)
                    assert.ok(sent[turn].startsWith(sent[turn - 1]), `turn ${turn} begins as the one before`);
                assert.equal(t.up.requests.length, 12, 'later turns are not refused first');
                await t.daemon.logged(/ shortened=1 truncated=\d+ /);
            });
        }
    }

    test('what has grown too long is cut once more, at one retry', async () => {
        t.up.always(llamaServer(model, { window: WINDOW }));
        const history = longTurns(300, 80);
        let refused = 0;
        for (let turn = 0; turn < 30; turn++) {
            history.push({ role: 'user', content: `And ${turn}?` });
            t.up.requests = [];
            const { json } = await ask(t.daemon, { model: 'grows', truncation: 'auto', input: history });
            assert.equal(json.status, 'completed');
            assert.ok(tokensOf(t.up.requests.at(-1).body.messages) >= 1650);
            refused += t.up.requests.length - 1;
            history.push({ role: 'assistant', content: textOf(json) });
        }
        assert.ok(refused <= 5, `${refused} refusals in 30 turns`);
    });

    test('without a memory the place of a cut is the same for a while, too', async (one) => {
        t.up.always(llamaServer(model, { window: WINDOW }));
        const forgetful = await startDaemon({ upstream: t.up.url, args: ['--truncation-cache', '0', '--count-by', 'off'] });
        one.after(() => forgetful.stop());
        const input = longTurns(300, 80);
        for (let turn = 0; turn < 8; turn++) {
            input.push({ role: 'user', content: 'And?' });
            await ask(forgetful, { model: 'two', truncation: 'auto', input });
            input.push({ role: 'assistant', content: 'So.' });
        }
        const sent = accepted().map(messagesText);
        assert.deepEqual([sent.length, t.up.requests.length], [8, 16]);
        assert.ok(sent.filter((text, i) => i > 0 && !text.startsWith(sent[i - 1])).length <= 1);
    });

    for (const [max_output_tokens, least] of [[64, 1700], [400, 1350], [2000, 800]])
        test(`with max_output_tokens ${max_output_tokens} one retry keeps ${least} tokens, and ten turns their beginning`, async () => {
            t.up.always(llamaServer(model, { window: WINDOW - max_output_tokens / 4 }));
            const input = longTurns(400, 60);
            for (let turn = 0; turn <= 4; turn++) {
                input.push({ role: 'user', content: `Q ${turn}?` });
                await ask(t.daemon, { model: `answers ${least}`, truncation: 'auto', max_output_tokens, input });
                input.push({ role: 'assistant', content: 'A.' });
            }
            const sent = accepted();
            assert.equal(t.up.requests.length, 6);
            assert.ok(tokensOf(sent[0].body.messages) >= least * (WINDOW - max_output_tokens / 4) / WINDOW);
            sent.map(messagesText).forEach((text, i, all) => assert.ok(i === 0 || text.startsWith(all[i - 1])));
        });

    test('room is left for the answer, and for the tools', async () => {
        t.up.always(({ body }) => {
            const prompt = Math.ceil(JSON.stringify([body.messages, body.tools]).length / 4);
            return prompt + body.max_tokens <= WINDOW ? textStream('Fits.')
                /* vLLM counts the answer in, and says so */
                : failure(400, `This model's maximum context length is ${WINDOW} tokens. However, you requested ${prompt + body.max_tokens} tokens (${prompt} in the messages, ${body.max_tokens} in the completion). Please reduce the length of the messages or completion.`, { type: 'BadRequestError' });
        });
        const tools = Array.from({ length: 10 }, (_, i) => ({ type: 'function', name: `f${i}`, description: filler(i, 200), parameters: {} }));
        const { json } = await ask(t.daemon, { model: 'v', truncation: 'auto', tools, max_output_tokens: 500, input: [...longTurns(100, 200), { role: 'user', content: 'And?' }] });
        assert.equal(json.status, 'completed');
        assert.equal(t.up.requests.length, 2);
    });

    test('numbers that are wrong cost three retries at most', async () => {
        t.up.always(failure(400, 'This model\'s maximum context length is 8000 tokens. However, your messages resulted in 9000 tokens.'));
        const input = [...longTurns(100, 200), { role: 'user', content: 'And?' }];
        checkError(await ask(t.daemon, { model: 'w', truncation: 'auto', input }), 400, 'context_length_exceeded');
        assert.equal(t.up.requests.length, 4);
        assert.equal(t.up.requests.at(-1).body.messages.length, 1);
    });
});

captures.judge(test);
