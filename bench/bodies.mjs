/* bodies.mjs -- the requests: what a client asks, in both wire formats.
 *
 * The model tells the mock upstream what to answer (see mock_upstream.c).
 */
const model = ({ deltas, rate = 0, burst = 1 }) => `bench-${deltas}-${rate}-${burst}`;

/* --- a short question, as a chat begins --------------------------------------- */

const QUESTION = 'What does a gateway do between two events? Answer with an example in C.';

/* --- an agent at work: tools, and turns of question, call, output, answer ------- */

const SOURCE = `static bool take_line(struct parser *p, str *bytes)
{
\tconst char *lf = memchr(bytes->p, '\\n', bytes->len);

\tif (lf == NULL)
\t\treturn keep(p, *bytes); /* "goes on in the next read" */
\treturn on_line(p, str_from(bytes->p, (size_t)(lf - bytes->p)));
}
`;
const ANSWER = 'The line is kept \u2014 na\u00efvely, byte by byte \u2014 until its end has arrived:\n\n'
    + '1. `take_line` looks for "\\n";\n2. what is left waits in `p->line`.\n\nShall I change that?';

const tools = ['read_file', 'write_file', 'list_files', 'search', 'run_command', 'apply_patch'].map((name) => ({
    name,
    description: `Does what its name says inside of the workspace: ${name}. Paths are relative to its root.`,
    parameters: {
        type: 'object',
        properties: {
            path: { type: 'string', description: 'File or folder, such as "src/main.c".' },
            limit: { type: ['integer', 'null'], minimum: 1, description: 'Most lines to return.' },
            mode: { type: 'string', enum: ['text', 'binary', 'summary'] },
        },
        required: ['path', 'limit', 'mode'],
        additionalProperties: false,
    },
    strict: true,
}));

const STEPS = {
    responses: (i, args) => [
        { role: 'user', content: [{ type: 'input_text', text: `${i}. Where does a line end? ${QUESTION}` }] },
        { type: 'function_call', call_id: `call_${i}`, name: 'read_file', arguments: args },
        { type: 'function_call_output', call_id: `call_${i}`, output: SOURCE.repeat(4) },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: ANSWER, annotations: [] }] },
    ],
    chat: (i, args) => [
        { role: 'user', content: `${i}. Where does a line end? ${QUESTION}` },
        {
            role: 'assistant', content: null,
            tool_calls: [{ id: `call_${i}`, type: 'function', function: { name: 'read_file', arguments: args } }],
        },
        { role: 'tool', tool_call_id: `call_${i}`, content: SOURCE.repeat(4) },
        { role: 'assistant', content: ANSWER },
    ],
};

/* Steps until the text has that many bytes; no text is longer than 2 KB. */
function conversation(api, bytes) {
    const steps = [];
    for (let i = 1, size = 0; size < bytes; i++) {
        const step = STEPS[api](i, JSON.stringify({ path: `src/part_${i}.c`, limit: null, mode: 'text' }));
        size += Buffer.byteLength(JSON.stringify(step));
        steps.push(...step);
    }
    return steps;
}

/* --- bodies ---------------------------------------------------------------------- */

const BODIES = {
    responses: (plan) => (plan.bytes
        ? {
            instructions: 'You are a careful programmer.', input: conversation('responses', plan.bytes),
            tools: tools.map((tool) => ({ type: 'function', ...tool })), parallel_tool_calls: true,
        }
        : { input: QUESTION }),
    chat: (plan) => (plan.bytes
        ? {
            messages: conversation('chat', plan.bytes), parallel_tool_calls: true,
            tools: tools.map((tool) => ({ type: 'function', function: tool })),
        }
        : { messages: [{ role: 'user', content: QUESTION }] }),
};

/* api: responses or chat. A plan with `bytes` gets a conversation of that size. What
 * nginx cannot do is left out, unless the plan is about that. */
export function bodyOf(api, plan) {
    const store = api === 'responses' ? { store: plan.stored === true } : {};
    return JSON.stringify({ model: model(plan), stream: !plan.whole, ...store, ...BODIES[api](plan) });
}
