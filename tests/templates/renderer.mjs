/* renderer.mjs -- @huggingface/jinja, with what it lacks of the Jinja that templates are written for.
 *
 * Each gap is a rewriting of the text of a template into what the renderer knows and that means the
 * same to a test that only asks whether there is a refusal. */
import { Template } from '@huggingface/jinja';

const GAPS = [
    /* The filter string of an object (Apriel). */
    [/\b(tool|tool_message)\s*\|\s*string\b/g, '$1|tojson'],
    /* Keys of an object that are numbers (Seed-OSS). */
    [/([{,]\s*)(\d+)(\s*:)/g, "$1'$2'$3"],
    [/<= k\b/g, '<= k|int'],
    /* A tuple that is taken apart (functionary-v3.2). */
    [/(?<=[[,]\s*)\(("[^"()]*", "[^"()]*")\)/g, '[$1]'],
    /* A list that changes (Kimi-K2). */
    [/set _ = ([\w.]+)\.append\((\w+)\)/g, 'set $1 = $1 + [$2]'],
    [/\{%-? set (\w+) = ([\w.]+)\.pop\(0\) -?%\}/g,
        "{%- if $2|length == 0 -%}{{ raise_exception('pop from empty list') }}{%- endif -%}{%- set $1 = $2[0] -%}{%- set $2 = $2[1:] -%}"],
    /* A loop over calls that are not there (DeepSeek-R1). */
    [/in message\['tool_calls'\](\s*-?%\})/g, "in (message['tool_calls'] or [])$1"],
    /* The filter min (MiniCPM5). */
    [/\]\s*\|\s*min\b/g, ']|sort|first'],
    /* Text with places in it (Hy3). */
    [/('[^'\n]*\{\}[^'\n]*')\.format\((\w+)\)/g, "($1|replace('{}', $2))"],
];

/* What templates have besides the messages; strftime_now and raise_exception come with the renderer.
 * llama.cpp and vLLM's options for firefunction give it the last two. */
const VARIABLES = {
    add_generation_prompt: true, bos_token: '<s>', eos_token: '</s>', datetime: '2026-01-31', functions: '[]',
};

/* A loop over tools that are not there is an error to this renderer, but none to others. */
function toolsWhenNone(render) {
    const variables = { messages: [{ role: 'user', content: 'x' }] };
    try {
        render(variables);
        return {};
    } catch {
        return { tools: [] };
    }
}

/* The template with this text as a function of its variables; it throws what the template raises. */
export function renderer(text) {
    const template = new Template(GAPS.reduce((rewritten, [from, to]) => rewritten.replace(from, to), text));
    const render = (variables) => template.render({ ...VARIABLES, ...variables });
    const none = toolsWhenNone(render);
    return ({ tools, ...variables }) => render({ ...variables, ...(tools === undefined ? none : { tools }) });
}
