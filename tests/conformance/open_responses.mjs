/* open_responses.mjs -- the seventeen scenarios of the Open Responses compliance suite.
 *
 * The suite (github.com/openresponses/openresponses, release 2026-04-24) is no package and wants
 * a runtime of its own. Here is what it asks and what it expects, with its schemas (tests/data/open_responses):
 * every event and every object is judged by them. Its time limits hold as well. A scenario's run()
 * returns what it found fault with.
 */
import { readFileSync } from 'node:fs';
import Ajv from 'ajv/dist/2020.js';

const CONNECT_MS = 10_000, TURN_MS = 30_000;

const schema = JSON.parse(readFileSync(new URL('../data/open_responses/schema.json', import.meta.url)));
const ajv = new Ajv({ strict: false, allErrors: true }).addSchema(schema, 'open-responses');
const judge = (name) => {
    const validate = ajv.getSchema(`open-responses#/$defs/${name}`);
    return (value, what = name) => validate(value) ? [] : validate.errors.map((e) => `${what}${e.instancePath}: ${e.message}`);
};
const judgeResponse = judge('ResponseResource');
const judgeCompaction = judge('CompactResource');
const judgeEvent = judge('StreamingEvent');
const judgeErrorFrame = judge('WebSocketErrorEvent');
const judgeCreate = judge('WebSocketResponseCreateEvent');

const RED_DOT = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WEATHER = {
    type: 'function', name: 'get_weather', description: 'The weather at a place',
    parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
};
const ENDS = new Set(['response.completed', 'response.failed', 'response.incomplete']);

const said = (role, content, more) => ({ type: 'message', role, content, ...more });
const check = (holds, finding) => holds ? [] : [finding];

const isCompleted = (response) => check(response?.status === 'completed', `status is ${response?.status}`);
const hasOutput = (response) => check(response?.output?.length > 0, 'there is no output');
const hasItem = (type) => (response) => check(response?.output?.some((item) => item.type === type), `no item is a ${type}`);

/* ---- over HTTP */

const post = ({ origin, key }, path, body) => fetch(`${origin}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
});

const whole = (body, ...expectations) => async (gateway) => {
    const answer = await post(gateway, '/responses', { model: gateway.model, ...body });
    const response = await answer.json();
    return [...check(answer.status === 200, `status ${answer.status}`), ...judgeResponse(response), ...expectations.flatMap((holds) => holds(response))];
};

/* As the suite reads: line by line, an event line holds until the blank line. */
function eventsIn(text) {
    return text.split('\n\n').map((frame) => frame.split('\n').find((line) => line.startsWith('data:'))?.slice(5).trim())
        .filter((data) => data && data !== '[DONE]').map((data) => JSON.parse(data));
}

const finalOf = (events) => events.findLast(({ type }) => ENDS.has(type))?.response;

const streamed = (body) => async (gateway) => {
    const answer = await post(gateway, '/responses', { model: gateway.model, stream: true, ...body });
    const events = eventsIn(await answer.text());
    const final = finalOf(events);
    return [...check(events.length > 0, 'there are no events'), ...events.flatMap((event) => judgeEvent(event, event.type)),
        ...judgeResponse(final), ...isCompleted(final)];
};

const compact = async (gateway, body) => {
    const answer = await post(gateway, '/responses/compact', body);
    return { status: answer.status, body: await answer.json() };
};

/* ---- over WebSocket */

const opened = (gateway) => new Promise((done, fail) => {
    const url = `${gateway.origin.replace(/^http/, 'ws')}/v1/responses`;
    const ws = new WebSocket(url, { headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` } });
    const late = setTimeout(() => fail(new Error('no connection in time')), CONNECT_MS);
    ws.addEventListener('open', () => (clearTimeout(late), done(ws)));
    ws.addEventListener('error', () => fail(new Error('the connection failed')));
});

/* One request to its end: an error frame, or the last event of a response. */
const turn = (ws, request, { checks = true } = {}) => new Promise((done, fail) => {
    const got = { faults: checks ? judgeCreate(request, 'request') : [], final: null, code: null };
    const end = (error) => {
        clearTimeout(late);
        ws.removeEventListener('message', hear);
        ws.removeEventListener('close', leave);
        error ? fail(error) : done(got);
    };
    const late = setTimeout(() => end(new Error('no end of the turn in time')), TURN_MS);
    const leave = () => end(new Error('closed before the turn had ended'));
    const hear = ({ data }) => {
        const event = JSON.parse(data);
        if (event.type === 'error') {
            got.faults.push(...judgeErrorFrame(event, 'error frame'));
            got.code = event.error?.code;
            end();
            return;
        }
        got.faults.push(...judgeEvent(event, event.type));
        if (ENDS.has(event.type)) {
            got.final = event.response;
            got.code = event.response.error?.code ?? null;
            end();
        }
    };
    ws.addEventListener('message', hear);
    ws.addEventListener('close', leave);
    ws.send(JSON.stringify(request));
});

/* Turns one after the other on one connection; each may be made of those before it. */
async function session(gateway, ...steps) {
    const ws = await opened(gateway);
    const turns = [];
    try {
        for (const step of steps) {
            const { checks, ...body } = typeof step === 'function' ? step(turns) : step;
            turns.push(await turn(ws, { type: 'response.create', model: gateway.model, ...body }, { checks }));
        }
    } finally {
        ws.close();
    }
    return turns;
}

const unstored = (input, more) => ({ store: false, input, ...more });
const after = ([first], input) => unstored(input, { previous_response_id: first.final.id });
const wentWell = ({ faults, final }) => [...faults, ...judgeResponse(final), ...isCompleted(final)];
const isUnknown = ({ faults, code }) => [...faults, ...check(code === 'previous_response_not_found', `the code is ${code}`)];

const overSocket = (...steps) => async (gateway) => (await session(gateway, ...steps)).flatMap(wentWell);

async function reconnect(gateway) {
    const [first] = await session(gateway, unstored('Remember the word: copper.'));
    const [again, recovered] = await session(gateway, () => after([first], 'Go on.'), unstored([said('user', 'Begin anew.')]));
    return [...wentWell(first), ...isUnknown(again), ...wentWell(recovered)];
}

async function missing(gateway) {
    const [only] = await session(gateway, unstored('Go on.', { previous_response_id: 'resp_that_never_was' }));
    return isUnknown(only);
}

async function evicts(gateway) {
    const orphan = { type: 'function_call_output', call_id: 'call_that_never_was', output: 'Nobody asked.' };
    const [first, failed, retry] = await session(gateway, unstored('Remember the word: ember.'),
        (turns) => after(turns, [orphan]), (turns) => after(turns, 'Go on.'));
    return [...wentWell(first), ...check(failed.code !== null, 'the second turn did not fail'), ...isUnknown(retry)];
}

async function newChain(gateway) {
    const input = [said('user', [{ type: 'input_text', text: 'Remember the word: slate.' }]),
        said('assistant', [{ type: 'output_text', text: 'OK.' }]),
        said('user', [{ type: 'input_text', text: 'Now make it short.' }])];
    const { status, body } = await compact(gateway, { model: gateway.model, input });
    if (status !== 200)
        return [`compact: status ${status}`];
    const [only] = await session(gateway, { ...unstored([...body.output, said('user', 'Go on.')]), tools: [], checks: false });
    return wentWell(only);
}

/* ---- */

async function compacts(gateway) {
    const input = [said('user', 'We launch on Tuesday and tell support first.'), said('assistant', 'Tuesday, and support is told before.')];
    const { status, body } = await compact(gateway, { model: gateway.model, prompt_cache_key: 'compact-test', input });
    return [...check(status === 200, `status ${status}`), ...judgeCompaction(body), ...hasOutput(body), ...hasItem('compaction')(body)];
}

async function compactsWithoutModel(gateway) {
    const { status } = await compact(gateway, { input: [said('user', 'Make it short.')] });
    return check(status === 400 || status === 422, `status ${status}`);
}

/* The schema alone: no request is sent for it. */
async function phaseSchema(gateway) {
    const answer = await post(gateway, '/responses', { model: gateway.model, input: 'Hello.' });
    const response = await answer.json();
    const message = { ...response.output[0], type: 'message', role: 'assistant' };
    return judgeResponse({ ...response, output: ['commentary', 'final_answer'].map((phase, i) => ({ ...message, id: `msg_${i}`, phase })) });
}

export const scenarios = [
    { id: 'basic-response', title: 'A message of the user is answered', run: whole({ input: [said('user', 'Say hello in three words.')] }, hasOutput, isCompleted) },
    { id: 'assistant-phase', title: 'Messages of the assistant with a phase are taken',
        run: whole({ input: [said('assistant', 'I look it up.', { phase: 'commentary' }), said('assistant', 'It is four.', { phase: 'final_answer' }), said('user', 'Only the number.')] }, hasOutput, isCompleted) },
    { id: 'response-output-phase-schema', title: 'A phase is valid in the output', run: phaseSchema },
    { id: 'streaming-response', title: 'Every event of a stream is valid', run: streamed({ input: [said('user', 'Count to five.')] }) },
    { id: 'websocket-response', title: 'A response over WebSocket', run: overSocket({ input: [said('user', 'Count to three.')] }) },
    { id: 'websocket-sequential-responses', title: 'Two responses on one connection', run: overSocket(unstored('Say: first'), unstored('Say: second')) },
    { id: 'websocket-continuation', title: 'One is continued that is not stored', run: overSocket(unstored('Remember the word: cobalt.'), (turns) => after(turns, 'Which word?')) },
    { id: 'websocket-reconnect-store-false-recovery', title: 'On another connection it is unknown, and a new one begins', run: reconnect },
    { id: 'websocket-previous-response-not-found', title: 'One that never was is unknown', run: missing },
    { id: 'websocket-failed-continuation-evicts-cache', title: 'A continuation that fails takes away what it continued', run: evicts },
    { id: 'websocket-compact-new-chain', title: 'What was compacted begins a new chain', run: newChain },
    { id: 'system-prompt', title: 'A system message is taken', run: whole({ input: [said('system', 'You are a pirate.'), said('user', 'Say hello.')] }, hasOutput, isCompleted) },
    { id: 'tool-calling', title: 'A function is called', run: whole({ input: [said('user', 'How is the weather in Paris?')], tools: [WEATHER] }, hasOutput, hasItem('function_call')) },
    { id: 'image-input', title: 'An image is taken',
        run: whole({ input: [said('user', [{ type: 'input_text', text: 'What is it?' }, { type: 'input_image', image_url: RED_DOT }])] }, hasOutput, isCompleted) },
    { id: 'multi-turn', title: 'A conversation comes as input', run: whole({ input: [said('user', 'I am Alice.'), said('assistant', 'Hello Alice!'), said('user', 'Who am I?')] }, hasOutput, isCompleted) },
    { id: 'compact-response', title: 'A conversation is compacted', run: compacts },
    { id: 'compact-missing-model', title: 'Compacting needs a model', run: compactsWithoutModel },
];
