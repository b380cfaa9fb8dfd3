/* chain.test.mjs -- hundreds of turns behind previous_response_id: what they cost in
 * the store, and that every store makes the same of them (CONTRACT 2.6).
 * ANTIPHON_TEST_TURNS sets how many; the work grows with its square.
 *
 * The chain has everything that a history can hold: text, reasoning, calls with
 * their outputs, images. Each daemon sees the same requests, so the upstream has
 * to see the same bytes, and none of our ids are among them.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import test, { after, before, describe } from 'node:test';
import { readingOf } from '../lib/check.mjs';
import { ask } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { IS_SLOW, patience } from '../lib/patience.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { callStream, startUpstream, textStream } from '../lib/upstream.mjs';

const IS_CHECKED = IS_SLOW || /asan|tsan/.test(BINARY);
const TURNS = 40 * Math.ceil(Number(process.env.ANTIPHON_TEST_TURNS ?? (IS_CHECKED ? 200 : 400)) / 40);
const STEP = TURNS / 4; /* turns between two looks at the store */
const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
const PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/* Turn n asks for a call when n ends in 4, and the turn behind it brings the output. */
const number = (n) => String(n).padStart(4, '0');
const isCall = (n) => n % 10 === 4;

function inputOf(n) {
    if (n > 0 && isCall(n - 1))
        return [{ type: 'function_call_output', call_id: `call_${number(n - 1)}`, output: `seen ${number(n)}` }];
    if (n % 10 === 7)
        return [{ role: 'user', content: [{ type: 'input_text', text: `question ${number(n)}` }, { type: 'input_image', image_url: PIXEL }] }];
    return `question ${number(n)}`;
}

const answerOf = (n) => isCall(n)
    ? callStream(['look', { at: number(n) }, `call_${number(n)}`])
    : textStream(`answer ${number(n)}`, { reasoning: n % 10 === 8 ? `thought ${number(n)}` : '' });

/* What the last turn has to show of each of those before it, in order. */
const marksOf = (n) => [
    n > 0 && isCall(n - 1) ? `seen ${number(n)}` : `question ${number(n)}`,
    isCall(n) ? `call_${number(n)}` : `answer ${number(n)}`];

const stats = (store) => JSON.parse(execFileSync(BINARY, ['store', 'stats', '--json', '--store', store], { env: ENVIRONMENT, encoding: 'utf8' }));

const fileBytes = (path) => [path, `${path}-wal`].filter(existsSync).reduce((sum, file) => sum + statSync(file).size, 0);

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

describe(`a chain of ${TURNS} turns`, { concurrency: false, timeout: patience(60_000 + 300 * TURNS) }, () => {
    const last = {}; /* store -> what the upstream saw of the last turn */
    let up;

    before(async () => (up = await startUpstream()));
    after(() => up.close());

    async function turn(daemon, n, previous_response_id) {
        up.requests.length = 0;
        up.next(answerOf(n));
        const startedAt = performance.now();
        const got = await ask(daemon, { model: 'm', input: inputOf(n), tools: TOOLS, stream: false, previous_response_id });
        assert.equal(got.status, 200, got.text);
        assert.equal(got.json.status, 'completed');
        return { id: got.json.id, response: got.json, ms: performance.now() - startedAt };
    }

    /* The whole chain; `look` is called before each quarter and at the end. */
    async function chain(t, store, look = () => {}) {
        const daemon = await startDaemon({ upstream: up.url, args: ['--store', store] });
        t.after(() => daemon.child.kill('SIGKILL'));
        const times = [];
        let id, response;
        look();
        for (let n = 0; n < TURNS; n++) {
            let ms;
            ({ id, response, ms } = await turn(daemon, n, id));
            times.push(ms);
            if ((n + 1) % STEP === 0)
                look();
        }
        assert.equal(readingOf(response).text, `answer ${number(TURNS - 1)}`);
        const { raw } = await up.request(0);
        await daemon.stop();
        t.diagnostic(`a turn took ${median(times.slice(0, 20)).toFixed(1)} ms at first, ${median(times.slice(-20)).toFixed(1)} ms at last, ` +
            `with ${raw.length} bytes for the upstream`);
        return raw.toString();
    }

    /* Bytes a turn in the first and the last quarter, of `sizes` taken at their ends. */
    function checkLinear(t, what, sizes) {
        const rate = (from, to) => (sizes[to] - sizes[from]) / STEP;
        const [first, end] = [rate(0, 1), rate(3, 4)];
        t.diagnostic(`${what}: ${first.toFixed(0)} bytes a turn in the first quarter, ${end.toFixed(0)} in the last`);
        assert.ok(first > 0 && end > 0 && Math.abs(end / first - 1) < 0.2, `${what} at the quarters: ${sizes}`);
    }

    test('memory: the upstream sees every turn once and in order, and none of our ids', async (t) => {
        last.memory = await chain(t, 'memory');
        const marks = Array.from({ length: TURNS }, (_, n) => marksOf(n)).flat().slice(0, -1);
        const found = last.memory.match(/(question|answer|seen) \d{4}|"id":"call_\d{4}"/g).map((mark) => mark.match(/call_\d{4}/)?.[0] ?? mark);
        assert.deepEqual(found, marks);
        assert.doesNotMatch(last.memory, /\b(resp|msg|rs|fc|fco|conv)_\w/);
    });

    test('SQLite: the same bytes, and storage grows with the turns, not with their history', async (t) => {
        const path = folder(t, 'antiphon.db');
        const sizes = [], files = [];
        last.sqlite = await chain(t, `sqlite:${path}`, () => {
            sizes.push(stats(`sqlite:${path}`).bytes);
            execFileSync('sqlite3', [path, 'PRAGMA wal_checkpoint(TRUNCATE)']);
            files.push(fileBytes(path));
        });
        checkLinear(t, 'bodies and ids', sizes);
        if (!IS_CHECKED) /* a short chain has too few pages to tell */
            checkLinear(t, 'the file', files);
        assert.equal(last.sqlite, last.memory);
    });

    test('PostgreSQL: the same', { skip: NO_POSTGRES }, async (t) => {
        const server = await startPostgres();
        t.after(() => server.close());
        const store = await server.database();
        const sizes = [];
        last.postgres = await chain(t, store, () => sizes.push(stats(store).bytes));
        checkLinear(t, 'bodies and ids', sizes);
        assert.equal(last.postgres, last.memory);
    });
});
