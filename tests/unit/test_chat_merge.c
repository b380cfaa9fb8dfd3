/* test_chat_merge.c -- the answers of several rounds become one.
 *
 * A case is what the upstream sends in each round, what the client gets of it all, and how
 * the rounds end; where one leads to another, also the message that the model is told
 * again. Everything is cut at every place. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "wire/chunk/chat_quiet.h"
#include "wire/loop/chat_merge.h"

#define HEAD       "{\"id\":\"one\",\"object\":\"chat.completion.chunk\",\"created\":1,"
#define HEAD_2     "{\"id\":\"two\",\"object\":\"chat.completion.chunk\",\"created\":2,"
#define DATA(json) "data: " json "\n\n"
#define ANY(delta, word)                                                                           \
    "\"choices\":[{\"index\":0,\"delta\":{" delta "},\"finish_reason\":" word "}]}"
#define CHUNK(delta)   DATA(HEAD ANY(delta, "null"))
#define CHUNK_2(delta) DATA(HEAD_2 ANY(delta, "null"))
#define FINISH(word)   DATA(HEAD ANY("", "\"" word "\""))
#define FINISH_2(word) DATA(HEAD_2 ANY("", "\"" word "\""))
#define USAGE(n)       DATA(HEAD "\"choices\":[],\"usage\":{\"prompt_tokens\":" #n "}}")
#define USAGE_2(n)     DATA(HEAD_2 "\"choices\":[],\"usage\":{\"prompt_tokens\":" #n "}}")
#define DONE           "data: [DONE]\n\n"
#define TEXT(text)     "\"content\":\"" text "\""
#define ROLE           "\"role\":\"assistant\",\"content\":\"\""
#define CALLS(pieces)  "\"tool_calls\":[" pieces "]"
#define FUNCTION(name, arguments)                                                                  \
    "\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"arguments\":" arguments "}"
#define CALL(index, id, name, arguments)                                                           \
    "{\"index\":" #index ",\"id\":\"" id "\"," FUNCTION(name, arguments) "}"
#define MORE(index, arguments)                                                                     \
    "{\"index\":" #index ",\"function\":{\"arguments\":\"" arguments "\"}}"
#define OLD(members)              "\"function_call\":{" members "}"
#define OLD_CALL(name, arguments) OLD("\"name\":\"" name "\",\"arguments\":\"" arguments "\"")
#define OURS(index, id)           CALL(index, id, "mcp__a__b", "\"{}\"")

#define PART(text)     "{\"type\":\"text\",\"text\":\"" text "\"}"
#define THINKING(text) "{\"type\":\"thinking\",\"thinking\":[" PART(text) "]}"

#define MESSAGE(content, calls)                                                                    \
    "{\"role\":\"assistant\",\"content\":" content ",\"tool_calls\":[" calls "]}"
#define SAID(id, name, arguments) "{\"id\":\"" id "\"," FUNCTION(name, arguments) "}"

enum { MAX_ROUNDS = 3 };

struct merge_case {
    const char *name;
    bool wants_usage, hides, answers_all, is_plain, is_broken;
    const char *rounds[MAX_ROUNDS];
    const char *shown;
    const char *ends;
};

static const str tool_names[] = {STR_INIT("mcp__a__b"), STR_INIT("mcp__a__better"),
                                 STR_INIT("mcp__c__d")};

static const struct merge_case cases[] = {
    {.name = "one_round_of_text_is_what_the_upstream_wrote",
     .rounds = {CHUNK(ROLE) CHUNK(TEXT("a")) DATA("{ \"x\" : 1.50 , \"choices\":[ ] }")
                    FINISH("stop") DONE},
     .shown = CHUNK(ROLE) CHUNK(TEXT("a")) DATA("{ \"x\" : 1.50 , \"choices\":[ ] }") FINISH("stop")
         DONE,
     .ends = "last"},
    {.name = "calls_of_ours_are_held_back_and_the_next_round_goes_on",
     .rounds = {CHUNK(ROLE) CHUNK(TEXT("a")) CHUNK(CALLS(CALL(0, "x", "mcp__a__b", "\"\"")))
                    CHUNK(CALLS(MORE(0, "{\\\"q\\\":"))) CHUNK(CALLS(MORE(0, "1}")))
                        FINISH("tool_calls") DONE,
                CHUNK_2(ROLE) CHUNK_2(TEXT("b")) FINISH_2("stop") DONE},
     .shown = CHUNK(ROLE) CHUNK(TEXT("a")) CHUNK(TEXT("b")) FINISH("stop") DONE,
     .ends = "calls " MESSAGE("\"a\"", SAID("x", "mcp__a__b", "\"{\\\"q\\\":1}\"")) "|last"},
    {.name = "three_rounds_have_one_id_and_time",
     .rounds = {CHUNK(ROLE) CHUNK(CALLS(OURS(0, "x"))) FINISH("tool_calls") DONE,
                CHUNK_2(ROLE) CHUNK_2(CALLS(OURS(0, "x"))) FINISH_2("stop") DONE,
                DATA("{\"created\":3,\"model\":\"m\",\"id\":\"three\"," ANY(TEXT("c"), "null"))
                    FINISH_2("stop") DONE},
     .shown = CHUNK(ROLE) DATA("{\"created\":1,\"model\":\"m\",\"id\":\"one\"," ANY(
         TEXT("c"), "null")) FINISH("stop") DONE,
     .ends = "calls " MESSAGE("null", SAID("x", "mcp__a__b", "\"{}\"")) "|calls " MESSAGE(
         "null", SAID("x", "mcp__a__b", "\"{}\"")) "|last"},
    {.name = "a_whole_call_in_the_finish_chunk_is_held_back_with_it",
     .rounds = {CHUNK(ROLE) DATA(HEAD ANY(TEXT("a") "," CALLS("{\"id\":\"x\"," FUNCTION(
                                              "mcp__a__b", "{ \"q\" : 1 }") "}"),
                                          "\"stop\"")) DONE,
                FINISH_2("stop") DONE},
     .shown = CHUNK(ROLE) CHUNK(TEXT("a")) FINISH("stop") DONE,
     .ends = "calls " MESSAGE("\"a\"", SAID("x", "mcp__a__b", "\"{\\\"q\\\":1}\"")) "|last"},
    {.name = "interleaved_calls_are_put_together",
     .rounds = {CHUNK(CALLS(CALL(0, "x", "mcp__a__b", "\"\"") "," CALL(
         1, "y", "mcp__c__d", "\"\""))) CHUNK(CALLS(MORE(1, "{\\\"y")))
                    CHUNK(CALLS(MORE(0, "{\\\"x") "," MORE(1, "\\\":1}")))
                        CHUNK(CALLS(MORE(0, "\\\":2}"))) FINISH("tool_calls") DONE},
     .shown = "",
     .ends = "calls " MESSAGE("null", SAID("x", "mcp__a__b", "\"{\\\"x\\\":2}\"") "," SAID(
                                          "y", "mcp__c__d", "\"{\\\"y\\\":1}\""))},
    {.name = "calls_of_the_client_pass_as_they_are",
     .rounds = {CHUNK(ROLE) CHUNK(CALLS(CALL(0, "x", "get", "\"\""))) CHUNK(CALLS(MORE(0, "{}")))
                    FINISH("tool_calls") DONE},
     .shown = CHUNK(ROLE) CHUNK(CALLS(CALL(0, "x", "get", "\"\""))) CHUNK(CALLS(MORE(0, "{}")))
         FINISH("tool_calls") DONE,
     .ends = "last"},
    {.name = "a_mixed_round_shows_the_clients_calls_numbered_from_0",
     .rounds = {CHUNK(ROLE) CHUNK(CALLS(OURS(0, "x") "," CALL(1, "y", "get", "\"\"")))
                    CHUNK(CALLS(MORE(1, "{") "," MORE(0, ""))) CHUNK(CALLS(MORE(1, "}")))
                        CHUNK(CALLS(CALL(2, "z", "put", "\"{}\""))) FINISH("stop") DONE},
     .shown = CHUNK(ROLE) CHUNK(CALLS(CALL(0, "y", "get", "\"\""))) CHUNK(CALLS(MORE(0, "{")))
         CHUNK(CALLS(MORE(0, "}"))) CHUNK(CALLS(CALL(1, "z", "put", "\"{}\""))) FINISH("tool_calls")
             DONE,
     .ends = "mixed"},
    {.name = "calls_of_the_client_in_a_later_round_begin_at_0",
     .rounds = {CHUNK(ROLE) CHUNK(CALLS(OURS(0, "x"))) FINISH("tool_calls") DONE,
                CHUNK_2(ROLE) CHUNK_2(CALLS(CALL(1, "y", "get", "\"{}\""))) FINISH_2("tool_calls")
                    DONE},
     .shown = CHUNK(ROLE) CHUNK(CALLS(CALL(0, "y", "get", "\"{}\""))) FINISH("tool_calls") DONE,
     .ends = "calls " MESSAGE("null", SAID("x", "mcp__a__b", "\"{}\"")) "|last"},
    {.name = "a_name_that_may_become_ours_waits_for_its_end",
     .rounds = {CHUNK(ROLE) CHUNK(CALLS(CALL(0, "x", "mcp__a", "\"\""))) CHUNK(CALLS(MORE(0, "{}")))
                    FINISH("tool_calls") DONE},
     .shown = CHUNK(ROLE) CHUNK(CALLS(CALL(0, "x", "mcp__a", "\"\""))) CHUNK(CALLS(MORE(0, "{}")))
         FINISH("tool_calls") DONE,
     .ends = "last"},
    {.name = "a_name_in_pieces_is_known_by_its_end",
     .rounds = {CHUNK(CALLS("{\"index\":0,\"id\":\"x\"}"))
                    CHUNK(CALLS("{\"index\":0,\"function\":{\"name\":\"mcp__a__be\"}}"))
                        CHUNK(CALLS("{\"index\":0,\"function\":{\"name\":\"tter\"}}"))
                            CHUNK(CALLS(MORE(0, "{}"))) FINISH("tool_calls") DONE},
     .shown = "",
     .ends = "calls " MESSAGE("null", SAID("x", "mcp__a__better", "\"{}\""))},
    {.name = "a_call_without_arguments_is_decided_at_the_finish",
     .rounds = {CHUNK(ROLE) CHUNK(CALLS(CALL(0, "x", "mcp__", "\"\""))) FINISH("tool_calls") DONE},
     .shown = CHUNK(ROLE) CHUNK(CALLS(CALL(0, "x", "mcp__", "\"\""))) FINISH("tool_calls") DONE,
     .ends = "last"},
    {.name = "a_call_of_ours_without_arguments_has_an_empty_object",
     .rounds = {CHUNK(CALLS(CALL(0, "x", "mcp__c__d", "null"))) FINISH("tool_calls") DONE},
     .shown = "",
     .ends = "calls " MESSAGE("null", SAID("x", "mcp__c__d", "\"{}\""))},
    {.name = "calls_with_one_index_are_told_apart_by_their_ids",
     .rounds = {CHUNK(CALLS(CALL(0, "x", "get", "\"{}\""))) CHUNK(CALLS(OURS(0, "y")))
                    CHUNK(CALLS(CALL(0, "z", "get", "\"{}\""))) FINISH("stop") DONE},
     .shown = CHUNK(CALLS(CALL(0, "x", "get", "\"{}\"")))
         CHUNK(CALLS(CALL(1, "z", "get", "\"{}\""))) FINISH("tool_calls") DONE,
     .ends = "mixed"},
    {.name = "unknown_members_of_a_call_of_ours_go_back_to_the_model",
     .rounds = {CHUNK(CALLS("{\"index\":0,\"id\":\"x\",\"extra_content\":{\"s\":1}," FUNCTION(
         "mcp__a__b", "\"{}\"") "}")) FINISH("tool_calls") DONE},
     .shown = "",
     .ends = "calls " MESSAGE(
         "null", "{\"id\":\"x\"," FUNCTION("mcp__a__b", "\"{}\"") ",\"extra_content\":{\"s\":1}}")},
    {.name = "reasoning_goes_back_as_it_came",
     .rounds = {CHUNK("\"reasoning_content\":\"a\",\"reasoning\":\"b\"")
                    CHUNK("\"reasoning_content\":\"\\ud83d\"")
                        CHUNK("\"reasoning_content\":\"\\ude00\",\"reasoning_details\":[{\"n\":1}]")
                            CHUNK("\"reasoning_details\":[{\"n\":2}]") CHUNK(CALLS(OURS(0, "x")))
                                FINISH("tool_calls") DONE},
     .shown = CHUNK("\"reasoning_content\":\"a\",\"reasoning\":\"b\"")
         CHUNK("\"reasoning_content\":\"\\ud83d\"")
             CHUNK("\"reasoning_content\":\"\\ude00\",\"reasoning_details\":[{\"n\":1}]")
                 CHUNK("\"reasoning_details\":[{\"n\":2}]"),
     .ends = "calls {\"role\":\"assistant\",\"content\":null,\"reasoning_content\":"
             "\"a\\ud83d\\ude00\",\"reasoning\":\"b\",\"reasoning_details\":[{\"n\":1},{\"n\":2}],"
             "\"tool_calls\":[" SAID("x", "mcp__a__b", "\"{}\"") "]}"},
    {.name = "reasoning_of_nothing_but_null_is_left_out",
     .rounds = {CHUNK("\"role\":\"assistant\",\"reasoning_content\":null")
                    CHUNK("\"content\":\"a\",\"reasoning\":{\"effort\":null,\"summary\":null}")
                        CHUNK("\"content\":null,\"reasoning\":null") FINISH("stop") DONE},
     .shown = CHUNK("\"role\":\"assistant\"") CHUNK("\"content\":\"a\"") FINISH("stop") DONE,
     .ends = "last"},
    {.name = "the_role_is_said_once",
     .rounds = {CHUNK("\"role\":\"assistant\",\"content\":\"a\"")
                    CHUNK("\"role\":\"assistant\",\"content\":\"b\"")
                        DATA(HEAD ANY("\"role\":\"assistant\",\"content\":\"\"", "\"stop\"")) DONE},
     .shown = CHUNK("\"role\":\"assistant\",\"content\":\"a\"") CHUNK("\"content\":\"b\"")
         DATA(HEAD ANY("\"content\":\"\"", "\"stop\"")) DONE,
     .ends = "last"},
    {.name = "there_is_one_finish_reason",
     .rounds = {FINISH("tool_calls") FINISH("stop") DONE},
     .shown = FINISH("tool_calls") DONE,
     .ends = "last"},
    {.name = "usage_is_left_out_of_what_did_not_ask_for_it",
     .rounds = {DATA(HEAD "\"usage\":null," ANY(TEXT("a"), "null")) DATA(
         HEAD "\"usage\":{\"prompt_tokens\":1}," ANY("", "\"stop\"")) USAGE(1) DONE},
     .shown = CHUNK(TEXT("a")) FINISH("stop") DONE,
     .ends = "last"},
    {.name = "a_chunk_without_choices_or_usage_passes",
     .rounds = {DATA("{\"choices\":[],\"prompt_filter_results\":[1],\"usage\":null}") FINISH("stop")
                    DONE},
     .shown = DATA("{\"choices\":[],\"prompt_filter_results\":[1]}") FINISH("stop") DONE,
     .ends = "last"},
    {.name = "usage_of_one_round_is_the_upstreams",
     .wants_usage = true,
     .rounds = {DATA(HEAD "\"usage\":null," ANY(TEXT("a"), "null")) FINISH("stop") USAGE(1) DONE},
     .shown = DATA(HEAD "\"usage\":null," ANY(TEXT("a"), "null")) FINISH("stop") USAGE(1) DONE,
     .ends = "last"},
    {.name = "usage_is_the_sum_of_all_rounds",
     .wants_usage = true,
     .rounds = {CHUNK(CALLS(OURS(0, "x"))) FINISH("tool_calls") USAGE(7) DONE,
                CHUNK_2(CALLS(OURS(0, "x")))
                    DATA(HEAD "\"usage\":{\"prompt_tokens\":5}," ANY("", "\"stop\"")) DONE,
                FINISH_2("stop") USAGE_2(3) DONE},
     .shown = FINISH("stop") USAGE(15) DONE,
     .ends = "calls " MESSAGE("null", SAID("x", "mcp__a__b", "\"{}\"")) "|calls " MESSAGE(
         "null", SAID("x", "mcp__a__b", "\"{}\"")) "|last"},
    {.name = "a_round_that_leads_on_can_be_hidden",
     .hides = true,
     .rounds = {CHUNK(ROLE) CHUNK(TEXT("a")) CHUNK(CALLS(OURS(0, "x"))) FINISH("tool_calls") DONE,
                CHUNK_2(ROLE) CHUNK_2(TEXT("b")) FINISH_2("stop") DONE},
     .shown = CHUNK(ROLE) CHUNK(TEXT("b")) FINISH("stop") DONE,
     .ends = "calls " MESSAGE("\"a\"", SAID("x", "mcp__a__b", "\"{}\"")) "|last"},
    {.name = "what_is_cut_off_calls_nothing",
     .rounds = {CHUNK(TEXT("a")) CHUNK(CALLS(CALL(0, "x", "mcp__a__b", "\"{\""))) FINISH("length")
                    DONE},
     .shown = CHUNK(TEXT("a")) FINISH("length") DONE,
     .ends = "last"},
    {.name = "all_calls_are_ours_when_all_are_answered_here",
     .answers_all = true,
     .rounds = {CHUNK(CALLS(CALL(0, "x", "get", "\"{}\""))) FINISH("tool_calls") DONE},
     .shown = "",
     .ends = "calls " MESSAGE("null", SAID("x", "get", "\"{}\""))},
    {.name = "missing_and_repeated_ids_are_made_anew",
     .rounds = {CHUNK(CALLS("{\"index\":0," FUNCTION("mcp__a__b", "\"{}\"") "}," OURS(
         1, "x") "," OURS(2, "x2"))) FINISH("tool_calls") DONE},
     .shown = "",
     .ends = "calls " MESSAGE(
         "null", SAID("call_*", "mcp__a__b", "\"{}\"") "," SAID(
                     "x", "mcp__a__b", "\"{}\"") "," SAID("x2", "mcp__a__b", "\"{}\""))},
    {.name = "a_call_of_the_old_form_is_held_back_and_the_next_round_goes_on",
     .rounds = {CHUNK(ROLE "," OLD_CALL("mcp__a__b", "")) CHUNK(
                    OLD("\"arguments\":\"{\\\"q\\\":\"")) CHUNK(OLD("\"arguments\":\"1}\""))
                    CHUNK(OLD("\"arguments\":\"\"")) CHUNK(OLD("")) FINISH("function_call") DONE,
                CHUNK_2(TEXT("b")) FINISH_2("stop") DONE},
     .shown = CHUNK(ROLE) CHUNK(TEXT("b")) FINISH("stop") DONE,
     .ends = "calls " MESSAGE("null", SAID("call_*", "mcp__a__b", "\"{\\\"q\\\":1}\"")) "|last"},
    {.name = "a_call_of_the_old_form_with_an_object_is_whole_in_one_chunk",
     .rounds = {DATA(
         HEAD ANY("\"content\":null," OLD("\"name\":\"mcp__a__b\",\"arguments\":{ \"q\" : 1 }"),
                  "\"function_call\"")) DONE},
     .shown = "",
     .ends = "calls " MESSAGE("null", SAID("call_*", "mcp__a__b", "\"{\\\"q\\\":1}\""))},
    {.name = "a_call_of_the_old_form_of_the_client_passes_as_it_is",
     .rounds = {CHUNK(ROLE "," OLD_CALL("get", "")) CHUNK(OLD("\"arguments\":\"{}\"")) CHUNK(
         OLD("")) CHUNK("\"content\":null,\"function_call\":null") FINISH("function_call") DONE},
     .shown = CHUNK(ROLE "," OLD_CALL("get", "")) CHUNK(OLD("\"arguments\":\"{}\"")) CHUNK(OLD(""))
         CHUNK("\"content\":null,\"function_call\":null") FINISH("function_call") DONE,
     .ends = "last"},
    {.name = "an_empty_call_of_the_old_form_begins_none",
     .rounds = {CHUNK(ROLE "," OLD("\"name\":null,\"arguments\":\"\"")) CHUNK(TEXT("a"))
                    FINISH("stop") DONE},
     .shown = CHUNK(ROLE "," OLD("\"name\":null,\"arguments\":\"\"")) CHUNK(TEXT("a"))
         FINISH("stop") DONE,
     .ends = "last"},
    {.name = "a_name_of_the_old_form_that_may_become_ours_waits_for_its_end",
     .rounds = {CHUNK(OLD_CALL("mcp__", "")) CHUNK(OLD_CALL("a", ""))
                    CHUNK(OLD("\"arguments\":\"{}\"")) CHUNK(CALLS(CALL(0, "x", "get", "\"{}\"")))
                        FINISH("function_call") DONE},
     .shown = CHUNK(OLD_CALL("mcp__a", "")) CHUNK(OLD("\"arguments\":\"{}\""))
         CHUNK(CALLS(CALL(0, "x", "get", "\"{}\""))) FINISH("function_call") DONE,
     .ends = "last"},
    {.name = "a_name_of_the_old_form_that_ends_otherwise_is_shown_once",
     .rounds = {CHUNK(OLD_CALL("mcp__", "")) CHUNK(OLD_CALL("x", "")) FINISH("function_call") DONE},
     .shown = CHUNK(OLD_CALL("mcp__", "")) CHUNK(OLD_CALL("x", "")) FINISH("function_call") DONE,
     .ends = "last"},
    {.name = "a_call_of_ours_in_both_forms_is_one",
     .rounds = {CHUNK(OLD_CALL("mcp__a__b", "{}") "," CALLS(CALL(0, "x", "mcp__a__b", "\"{}\"")))
                    FINISH("tool_calls") DONE},
     .shown = "",
     .ends = "calls " MESSAGE("null", SAID("x", "mcp__a__b", "\"{}\""))},
    {.name = "a_call_of_the_client_in_both_forms_passes_as_it_is",
     .rounds = {CHUNK(OLD_CALL("get", "{}") "," CALLS(CALL(0, "x", "get", "\"{}\"")))
                    FINISH("tool_calls") DONE},
     .shown = CHUNK(OLD_CALL("get", "{}") "," CALLS(CALL(0, "x", "get", "\"{}\"")))
         FINISH("tool_calls") DONE,
     .ends = "last"},
    {.name = "calls_in_a_message_beside_a_delta_stay_here",
     .rounds = {DATA("{\"choices\":[{\"delta\":{" TEXT("b") "},\"message\":{" CALLS(
         OURS(0, "x")) "}}]}") FINISH("stop") DONE},
     .shown = DATA("{\"choices\":[{\"delta\":{" TEXT("b") "}}]}") FINISH("stop") DONE,
     .ends = "last"},
    {.name = "thinking_in_parts_is_told_again_in_parts",
     .rounds = {CHUNK("\"content\":[" THINKING("Hm\\ud83d") "]")
                    CHUNK("\"content\":[" THINKING("\\ude00.") "," PART("a") "]") CHUNK(TEXT("b"))
                        CHUNK(CALLS(OURS(0, "x"))) FINISH("tool_calls") DONE,
                FINISH_2("stop") DONE},
     .shown = CHUNK("\"content\":[" THINKING("Hm\\ud83d") "]") CHUNK("\"content\":[" THINKING(
         "\\ude00.") "," PART("a") "]") CHUNK(TEXT("b")) FINISH("stop") DONE,
     .ends = "calls " MESSAGE("[" THINKING("Hm\\ud83d\\ude00.") "," PART("ab") "]",
                              SAID("x", "mcp__a__b", "\"{}\"")) "|last"},
    {.name = "thinking_without_text_is_told_again_alone",
     .rounds = {CHUNK("\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm\"}]," CALLS(
         OURS(0, "x"))) FINISH("tool_calls") DONE},
     .shown = CHUNK("\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm\"}]"),
     .ends = "calls " MESSAGE("[" THINKING("Hm") "]", SAID("x", "mcp__a__b", "\"{}\""))},
    {.name = "of_a_delta_beside_a_whole_message_the_delta_counts",
     .rounds = {DATA("{\"choices\":[{\"delta\":{" TEXT("b") "," CALLS(
         OURS(0, "x")) "},\"message\":{" TEXT("ab") "}}]}") FINISH("tool_calls") DONE},
     .shown = DATA("{\"choices\":[{\"delta\":{" TEXT("b") "},\"message\":{" TEXT("ab") "}}]}"),
     .ends = "calls " MESSAGE("\"b\"", SAID("x", "mcp__a__b", "\"{}\""))},
    {.name = "an_error_in_the_stream_passes_and_ends_it",
     .rounds = {CHUNK(TEXT("a")) DATA("{\"error\":{\"message\":\"m\",\"code\":429}}")
                    CHUNK(TEXT("b"))},
     .shown = CHUNK(TEXT("a")) DATA("{\"error\":{\"message\":\"m\",\"code\":429}}") DONE,
     .ends = "failed rate_limit_exceeded"},
    {.name = "an_error_after_the_finish_is_ignored",
     .rounds = {FINISH("stop") DATA("{\"error\":\"late\"}") DONE},
     .shown = FINISH("stop") DONE,
     .ends = "last"},
    {.name = "a_broken_connection_is_told_as_an_error",
     .is_broken = true,
     .rounds = {CHUNK(TEXT("a"))},
     .shown = CHUNK(TEXT("a")) DATA("{\"error\":{\"message\":\"reset\",\"type\":\"server_error\","
                                    "\"param\":null,\"code\":\"upstream_error\"}}") DONE,
     .ends = "failed upstream_error"},
    {.name = "a_broken_connection_after_the_finish_changes_nothing",
     .is_broken = true,
     .rounds = {FINISH("stop")},
     .shown = FINISH("stop") DONE,
     .ends = "last"},
    {.name = "broken_chunks_apart_are_skipped_and_lines_joined",
     .rounds = {DATA("{") "data: {\"choices\":\ndata: [],\"x\":1}\n\n" DATA("{") FINISH("stop")
                    DONE},
     .shown = DATA("{\"choices\":[],\"x\":1}") FINISH("stop") DONE,
     .ends = "last"},
    {.name = "a_whole_body_becomes_a_chunk",
     .rounds = {"{\"id\":\"one\",\n\"object\":\"chat.completion\",\"choices\":[{\"index\":0,"
                "\"message\":{\"role\":\"assistant\"," TEXT("a") "," CALLS(
                    "{\"id\":\"y\"," FUNCTION(
                        "mcp__a", "\"{}\"") "}") "},\"finish_reason\":\"tool_calls\"}]}"},
     .shown = DATA("{\"id\":\"one\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,"
                   "\"delta\":{\"role\":\"assistant\"," TEXT("a") "," CALLS(
                       "{\"index\":0,\"id\":\"y\"," FUNCTION(
                           "mcp__a", "\"{}\"") "}") "},\"finish_reason\":\"tool_calls\"}]}") DONE,
     .ends = "last"},

#define BODY(message, word, usage)                                                                 \
    "{ \"id\":\"n\", \"choices\":[{\"message\":{" message "},\"finish_reason\":\"" word            \
    "\"}],\"usage\":{\"prompt_tokens\":" #usage "}}"
    {.name = "without_a_stream_one_round_is_what_the_upstream_wrote",
     .is_plain = true,
     .rounds = {BODY("\"role\":\"assistant\"," TEXT("a"), "stop", 1) "\n"},
     .shown = BODY("\"role\":\"assistant\"," TEXT("a"), "stop", 1) "\n",
     .ends = "last"},
    {.name = "without_a_stream_the_last_body_counts_all_tokens",
     .is_plain = true,
     .rounds =
         {BODY(ROLE "," CALLS("{\"id\":\"x\"," FUNCTION("mcp__a__b", "\"{}\"") "}"), "tool_calls",
               1),
          "{\"id\":\"n\",\"x\":[1, 2],\"usage\":{\"prompt_tokens\":2},\"choices\":[{\"message\":{"
          "\"role\":\"assistant\",\"reasoning\":null," TEXT("b") "}}]}"},
     .shown =
         "{\"id\":\"n\",\"x\":[1, 2],\"usage\":{\"prompt_tokens\":3},\"choices\":[{\"message\":{"
         "\"role\":\"assistant\"," TEXT("b") "}}]}",
     .ends = "calls " MESSAGE("null", SAID("x", "mcp__a__b", "\"{}\"")) "|last"},
    {.name = "without_a_stream_a_mixed_answer_has_the_clients_calls",
     .is_plain = true,
     .rounds = {"{\"choices\":[{\"finish_reason\":\"stop\",\"message\":{" CALLS(
         "{\"id\":\"x\"," FUNCTION("mcp__a__b", "\"{}\"") "},{\"id\":\"y\"," FUNCTION(
             "get", "\"{}\"") "}") "}}]}"},
     .shown = "{\"choices\":[{\"message\":{" CALLS(
         "{\"id\":\"y\"," FUNCTION("get", "\"{}\"") "}") "},\"finish_reason\":\"tool_calls\"}]}",
     .ends = "mixed"},
    {.name = "without_a_stream_a_call_of_the_old_form_leads_on",
     .is_plain = true,
     .rounds = {BODY("\"content\":null," OLD_CALL("mcp__a__b", "{}"), "function_call", 1),
                BODY(TEXT("b"), "stop", 1)},
     .shown = "{\"id\":\"n\",\"choices\":[{\"message\":{" TEXT(
         "b") "},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":2}}",
     .ends = "calls " MESSAGE("null", SAID("call_*", "mcp__a__b", "\"{}\"")) "|last"},
    {.name = "without_a_stream_what_is_no_completion_passes",
     .is_plain = true,
     .rounds = {"no JSON \xff"},
     .shown = "no JSON \xff",
     .ends = "last"},
};

struct run {
    struct chat_merge merge;
    struct buf out, ends;
};

static void feed(void *arg, str piece)
{
    struct run *r = arg;

    if (!chat_merge_is_over(&r->merge))
        chat_merge_feed(&r->merge, piece, &r->out);
}

/* Ids of our own are chance; their form is not. */
static void hide_chance(struct buf *text)
{
    static const str prefix = STR_INIT("call_");

    for (size_t at = 0; at + prefix.len + ID_CALL_CHARS <= text->len; at++) {
        if (!str_starts_with(str_skip(buf_str(text), at), prefix) || text->p[at + 5] == 's')
            continue;
        memmove(text->p + at + 6, text->p + at + 5 + ID_CALL_CHARS,
                text->len - at - 5 - ID_CALL_CHARS);
        text->p[at + 5] = '*';
        text->len -= ID_CALL_CHARS - 1;
    }
}

static enum chat_round_end end_round(struct run *r, const struct merge_case *c)
{
    const struct chat_loop_message_conf message = {.empty_content = CHAT_CONTENT_NULL};
    struct err broken;
    enum chat_round_end end;

    err_set(&broken, ERR_UPSTREAM_ERROR, "reset");
    end = chat_merge_end(&r->merge, c->is_broken ? &broken : NULL, &r->out);
    if (r->ends.len > 0)
        buf_char(&r->ends, '|');
    switch (end) {
    case CHAT_ROUND_CALLS:
        buf_c(&r->ends, "calls ");
        chat_loop_said_write(&r->merge.said, &message, &r->ends);
        break;
    case CHAT_ROUND_FAILED:
        buf_c(&r->ends, "failed ");
        buf_c(&r->ends, err_wire_code(&r->merge.error));
        chat_merge_fail(&r->merge, &r->merge.error, &r->out);
        break;
    case CHAT_ROUND_LAST:
    case CHAT_ROUND_MIXED:
        buf_c(&r->ends, end == CHAT_ROUND_MIXED ? "mixed" : "last");
        chat_merge_finish(&r->merge, &r->out);
        break;
    }
    return end;
}

static void check_case(const struct merge_case *c, struct cutting cutting)
{
    const struct chat_loop_tools tools = {tool_names, COUNT_OF(tool_names), c->answers_all};
    struct test_ids ids;
    const struct chat_merge_conf conf = {.tools = &tools,
                                         .ids = &ids.source,
                                         .is_stream = !c->is_plain,
                                         .wants_usage = c->wants_usage,
                                         .hides_rounds = c->hides,
                                         .max_event_bytes = 10000,
                                         .max_output_bytes = 10000};
    struct run r = {.out = {.limit = 0}};
    enum chat_round_end end = CHAT_ROUND_CALLS;

    test_ids_reset(&ids);
    chat_merge_init(&r.merge, &conf);
    for (size_t i = 0; i < MAX_ROUNDS && c->rounds[i] != NULL; i++) {
        assert_int_equal(end, CHAT_ROUND_CALLS);
        chat_merge_begin(&r.merge);
        feed_pieces(str_from_c(c->rounds[i]), cutting, feed, &r);
        end = end_round(&r, c);
    }
    hide_chance(&r.ends);
    if (!str_eq(buf_str(&r.out), str_from_c(c->shown)) ||
        !str_eq(buf_str(&r.ends), str_from_c(c->ends)))
        fail_msg("%s, first piece of %zu:\n     got %s\nexpected %s\n     got %s\nexpected %s",
                 c->name, cutting.first, buf_cstr(&r.out), c->shown, buf_cstr(&r.ends), c->ends);
    chat_merge_fini(&r.merge);
    buf_fini(&r.out);
    buf_fini(&r.ends);
}

static void rounds_become_one_answer_in_any_cutting(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct merge_case *c = &cases[i];
        size_t longest = 0;

        for (size_t round = 0; round < MAX_ROUNDS && c->rounds[round] != NULL; round++)
            longest = strlen(c->rounds[round]) > longest ? strlen(c->rounds[round]) : longest;
        check_case(c, UNCUT);
        check_case(c, BYTE_BY_BYTE);
        for (size_t at = 1; at < longest; at++)
            check_case(c, CUT_AT(at));
    }
}

/* ---- limits */

static struct err error_of(str body, size_t max_event_bytes, size_t max_output_bytes)
{
    const struct chat_loop_tools tools = {tool_names, COUNT_OF(tool_names), false};
    const struct chat_merge_conf conf = {.tools = &tools,
                                         .is_stream = true,
                                         .max_event_bytes = max_event_bytes,
                                         .max_output_bytes = max_output_bytes};
    struct run r = {.out = {.limit = 0}};
    struct err e;

    chat_merge_init(&r.merge, &conf);
    chat_merge_begin(&r.merge);
    chat_merge_feed(&r.merge, body, &r.out);
    assert_int_equal(chat_merge_end(&r.merge, NULL, &r.out), CHAT_ROUND_FAILED);
    e = r.merge.error;
    chat_merge_fini(&r.merge);
    buf_fini(&r.out);
    return e;
}

static void what_passes_a_limit_fails(void **state)
{
    static const str longer = STR_INIT(CHUNK(TEXT("01234567")) CHUNK(TEXT("89")) DONE);
    struct buf calls = {.limit = 0};

    (void)state;
    assert_int_equal(error_of(longer, 40, 0).code, ERR_UPSTREAM_ERROR);
    assert_int_equal(error_of(longer, 0, 9).code, ERR_UPSTREAM_ERROR);
    assert_int_equal(error_of(STR("{\"choices\":[]                    }"), 20, 0).code,
                     ERR_UPSTREAM_ERROR);
    for (size_t i = 0; i <= CHAT_MAX_CALLS; i++) {
        buf_c(&calls, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":");
        buf_uint(&calls, i);
        buf_c(&calls, ",\"function\":{\"name\":\"mcp__a__b\"}}]}}]}\n\n");
    }
    assert_int_equal(error_of(buf_str(&calls), 0, 0).code, ERR_UPSTREAM_ERROR);
    buf_fini(&calls);
}

static void without_a_finish_and_broken_three_times_it_fails(void **state)
{
    (void)state;
    assert_int_equal(error_of(STR(CHUNK(TEXT("a"))), 0, 0).code, ERR_UPSTREAM_ERROR);
    assert_int_equal(error_of(STR(DATA("{") DATA("{") DATA("{") DONE), 0, 0).code,
                     ERR_UPSTREAM_ERROR);
}

/* Comments keep a stream open, but not for ever. */
static void comments_without_end_fail(void **state)
{
    enum { COMMENT = 4096 };
    static char comment[COMMENT + 1];
    const struct chat_loop_tools tools = {.names = tool_names, .n = COUNT_OF(tool_names)};
    const struct chat_merge_conf conf = {
        .tools = &tools, .is_stream = true, .max_event_bytes = 1024};
    struct chat_merge m;
    struct buf out = {.limit = 0};
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < COMMENT; i++)
        comment[i] = i % 512 == 511 ? '\n' : ':';
    chat_merge_init(&m, &conf);
    chat_merge_begin(&m);
    for (; !chat_merge_is_over(&m) && n < 4 * CHAT_QUIET_LEAST; n += COMMENT)
        chat_merge_feed(&m, str_from(comment, COMMENT), &out);
    assert_int_equal(n, CHAT_QUIET_LEAST + COMMENT);
    assert_int_equal(m.error.code, ERR_UPSTREAM_ERROR);
    chat_merge_fini(&m);

    /* A word between them is a sign of life. */
    chat_merge_init(&m, &conf);
    chat_merge_begin(&m);
    for (size_t i = 0; i < 3; i++) {
        for (n = 0; n < CHAT_QUIET_LEAST; n += COMMENT)
            chat_merge_feed(&m, str_from(comment, COMMENT), &out);
        chat_merge_feed(&m, STR(CHUNK(TEXT("a"))), &out);
        assert_false(chat_merge_is_over(&m));
    }
    chat_merge_fini(&m);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_become_one_answer_in_any_cutting),
        cmocka_unit_test(what_passes_a_limit_fails),
        cmocka_unit_test(comments_without_end_fail),
        cmocka_unit_test(without_a_finish_and_broken_three_times_it_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
