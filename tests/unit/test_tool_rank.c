/* test_tool_rank.c -- fifty tools, and what finds which of them. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "wire/tools/tool_rank.h"

#define TOOL(space, tool, text, ...)                                                               \
    {                                                                                              \
        .name_space = STR_INIT(space), .name = STR_INIT(tool), .description = STR_INIT(text),      \
        .parameters = STR_INIT("{\"type\":\"object\",\"properties\":{" __VA_ARGS__ "}}"),          \
    }
#define TEXT(name)  "\"" name "\":{\"type\":\"string\"}"
#define AND(a, b)   a "," b
#define OF(name, d) "\"" name "\":{\"type\":\"string\",\"description\":\"" d "\"}"

static const struct tool fifty[] = {
    TOOL("mail", "send_message", "Sends an email to one or more people",
         AND(TEXT("to"), TEXT("subject"))),
    TOOL("mail", "list_messages", "Lists the emails of a folder", TEXT("folder")),
    TOOL("mail", "delete_message", "Deletes an email", TEXT("message_id")),
    TOOL("mail", "create_draft", "Saves an email without sending it", TEXT("body")),
    TOOL("mail", "search_inbox", "Finds emails by words, sender or date", TEXT("query")),
    TOOL("calendar", "create_event", "Adds an appointment to the calendar",
         AND(TEXT("start"), TEXT("end"))),
    TOOL("calendar", "list_events", "Appointments of a day or week", TEXT("day")),
    TOOL("calendar", "find_free_time", "When everybody is free to meet", TEXT("attendees")),
    TOOL("calendar", "cancel_event", "Cancels an appointment and tells those invited",
         TEXT("event_id")),
    TOOL("crm", "findCustomer", "Looks up a customer by name or number", TEXT("name")),
    TOOL("crm", "createCustomer", "Adds a customer", TEXT("name")),
    TOOL("crm", "listOrders", "Orders of a customer", TEXT("customerId")),
    TOOL("crm", "refundOrder", "Pays an order back to the customer",
         AND(TEXT("orderId"), TEXT("amount"))),
    TOOL("crm", "updateAddress", "Changes where a customer lives", TEXT("street")),
    TOOL("billing", "create_invoice", "Makes an invoice for an order", TEXT("order_id")),
    TOOL("billing", "send_invoice", "Sends an invoice by email", TEXT("invoice_id")),
    TOOL("billing", "list_unpaid", "Invoices that are overdue", TEXT("since")),
    TOOL("billing", "tax_report", "Value added tax of a quarter", TEXT("quarter")),
    TOOL("git", "clone_repository", "Copies a repository to this machine", TEXT("url")),
    TOOL("git", "commit_changes", "Commits what was changed", TEXT("message")),
    TOOL("git", "create_branch", "Begins a branch", TEXT("branch")),
    TOOL("git", "open_pull_request", "Asks for a branch to be merged",
         AND(TEXT("title"), TEXT("base"))),
    TOOL("git", "list_issues", "Open issues of a GitHub project", TEXT("label")),
    TOOL("git", "close_issue", "Closes an issue with a comment", TEXT("comment")),
    TOOL("files", "read_file", "Reads a file as text", TEXT("path")),
    TOOL("files", "write_file", "Writes text to a file", AND(TEXT("path"), TEXT("content"))),
    TOOL("files", "delete_file", "Removes a file for good", TEXT("path")),
    TOOL("files", "list_directory", "Names of the files in a directory", TEXT("path")),
    TOOL("files", "compress", "Makes a zip archive of files", TEXT("paths")),
    TOOL("db", "run_query", "Runs SQL against the database", OF("sql", "a statement, SELECT only")),
    TOOL("db", "describe_table", "Columns and indexes of a table", TEXT("table")),
    TOOL("db", "backup", "Dumps the database", TEXT("target")),
    TOOL("", "get_weather", "Current weather and forecast for a city", TEXT("city")),
    TOOL("", "get_time", "Current time in a time zone", TEXT("timezone")),
    TOOL("", "convert_currency", "Converts an amount between currencies",
         AND(TEXT("from"), TEXT("to"))),
    TOOL("", "translate", "Translates text into another language", TEXT("language")),
    TOOL("", "shorten_url", "Makes a short link", TEXT("url")),
    TOOL("", "generate_qr", "Draws a QR code", TEXT("content")),
    TOOL("maps", "geocode", "Coordinates of an address", TEXT("address")),
    TOOL("maps", "route", "Directions from one place to another",
         AND(TEXT("origin"), TEXT("destination"))),
    TOOL("maps", "nearby", "Restaurants, shops and stations around a place", TEXT("radius")),
    TOOL("travel", "search_flights", "Flights between two airports", TEXT("airport")),
    TOOL("travel", "book_hotel", "Reserves a room", AND(TEXT("check_in"), TEXT("check_out"))),
    TOOL("travel", "rentCar", "Rents a car for some days", TEXT("days")),
    TOOL("k8s", "scale_deployment", "Changes the number of replicas", TEXT("replicas")),
    TOOL("k8s", "getPodLogs", "Logs of a pod", TEXT("pod")),
    TOOL("k8s", "restart_pod", "Restarts a pod", TEXT("pod")),
    TOOL("photos", "resize_image", "Makes a picture smaller", AND(TEXT("width"), TEXT("height"))),
    TOOL("photos", "remove_background", "Cuts out what a picture shows", TEXT("image")),
    TOOL("", "wetter_vorhersage", "Wettervorhersage für eine Stadt", TEXT("stadt")),
};

static size_t rank(const char *query, size_t limit, const struct tool **ret)
{
    struct err e;
    ssize_t n;

    for (size_t i = 0; i < COUNT_OF(fifty); i++)
        ret[i] = &fifty[i];
    n = tool_rank(ret, COUNT_OF(fifty), str_from_c(query), limit, &e);
    assert_true(n >= 0);
    return (size_t)n;
}

static void the_tool_that_is_meant_comes_first(void **state)
{
    static const struct {
        const char *query, *first;
    } cases[] = {
        {"send a mail message", "send_message"},
        {"emails by sender", "search_inbox"},
        {"save a draft", "create_draft"},
        {"add an appointment", "create_event"},
        {"when is everybody free", "find_free_time"},
        {"cancel an appointment", "cancel_event"},
        {"find customer", "findCustomer"},
        {"customer's orders", "listOrders"},
        {"refund", "refundOrder"},
        {"refundOrder", "refundOrder"},
        {"crm refund_order", "refundOrder"},
        {"change the address of a customer", "updateAddress"},
        {"create invoice", "create_invoice"},
        {"overdue invoices", "list_unpaid"},
        {"value added tax", "tax_report"},
        {"clone repositories", "clone_repository"},
        {"pull request", "open_pull_request"},
        {"github issues", "list_issues"},
        {"commit", "commit_changes"},
        {"read a file", "read_file"},
        {"zip", "compress"},
        {"SELECT statement", "run_query"},
        {"columns of a table", "describe_table"},
        {"dump database", "backup"},
        {"weather in Oslo", "get_weather"},
        {"Wettervorhersage Stadt", "wetter_vorhersage"},
        {"currency conversion, converting amounts", "convert_currency"},
        {"translation into another language", "translate"},
        {"QR code", "generate_qr"},
        {"directions to the destination", "route"},
        {"restaurants", "nearby"},
        {"flights", "search_flights"},
        {"reserve a hotel room", "book_hotel"},
        {"rent car", "rentCar"},
        {"pod logs", "getPodLogs"},
        {"replicas", "scale_deployment"},
        {"resize a picture", "resize_image"},
    };
    const struct tool *found[COUNT_OF(fifty)];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const size_t n = rank(cases[i].query, COUNT_OF(fifty), found);

        if (n == 0 || !str_eq(found[0]->name, str_from_c(cases[i].first)))
            fail_msg("%s: %.*s", cases[i].query, n == 0 ? 0 : (int)found[0]->name.len,
                     found[0]->name.p);
    }
}

static void what_shares_no_word_is_not_found(void **state)
{
    static const char *const queries[] = {"", "  ", "the of to a", "xyzzy", "?!", "量子"};
    const struct tool *found[COUNT_OF(fifty)];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(queries); i++)
        assert_int_equal(rank(queries[i], 10, found), 0);
}

static void names_of_spaces_and_parameters_count(void **state)
{
    const struct tool *found[COUNT_OF(fifty)];

    (void)state;
    assert_int_equal(rank("calendar", 10, found), 4);
    for (size_t i = 0; i < 4; i++)
        assert_str_c(found[i]->name_space, "calendar");
    assert_int_equal(rank("attendees", 10, found), 1);
    assert_str_c(found[0]->name, "find_free_time");
}

static void no_more_are_found_than_are_wanted(void **state)
{
    const struct tool *all[COUNT_OF(fifty)], *some[COUNT_OF(fifty)];
    const size_t n = rank("file", COUNT_OF(fifty), all);

    (void)state;
    assert_true(n > 3);
    assert_int_equal(rank("file", 3, some), 3);
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal(some[i], all[i]);
    assert_int_equal(rank("file", 0, some), 0);
}

/* Of equals the first comes first, and the order is one of all tools. */
static void answers_do_not_depend_on_chance(void **state)
{
    static const struct tool same[] = {TOOL("", "one", "Same words", ""),
                                       TOOL("", "two", "Same words", ""),
                                       TOOL("", "six", "Same words", "")};
    const struct tool *found[COUNT_OF(same)] = {&same[0], &same[1], &same[2]};
    struct err e;

    (void)state;
    assert_int_equal(tool_rank(found, COUNT_OF(same), STR("same"), 9, &e), 3);
    for (size_t i = 0; i < COUNT_OF(same); i++)
        assert_ptr_equal(found[i], &same[i]);
    assert_int_equal(tool_rank(NULL, 0, STR("same"), 9, &e), 0);
}

/* Descriptions of what is inside of what, and names that are called "description". */
static void schemas_are_read_to_their_depth(void **state)
{
    static const struct tool tools[] = {
        {.name = STR_INIT("a"),
         .parameters = STR_INIT("{\"properties\":{\"x\":{\"type\":\"array\",\"items\":{\"anyOf\":[{"
                                "\"properties\":{\"deepest\":{}}}]}}}}")},
        {.name = STR_INIT("b"),
         .parameters =
             STR_INIT("{\"properties\":{\"description\":{\"description\":\"marmalade\"}}}")},
        {.name = STR_INIT("c"), .parameters = STR_INIT("[]")},
        {.name = STR_INIT("d\\u0065ep"), .description = STR_INIT("line\\nbreak")},
    };
    static const struct {
        const char *query;
        size_t first;
    } cases[] = {{"deepest", 0}, {"marmalade", 1}, {"description", 1}, {"deep", 3}, {"break", 3}};
    struct err e;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct tool *found[] = {&tools[0], &tools[1], &tools[2], &tools[3]};

        assert_int_equal(tool_rank(found, COUNT_OF(found), str_from_c(cases[i].query), 9, &e), 1);
        assert_ptr_equal(found[0], &tools[cases[i].first]);
    }
}

static void queries_of_any_length_are_taken(void **state)
{
    const struct tool *found[COUNT_OF(fifty)];
    struct buf query = {0};

    (void)state;
    for (int i = 0; i < 5000; i++) {
        buf_c(&query, "word");
        buf_int(&query, i);
        buf_char(&query, ' ');
    }
    assert_int_equal(rank(buf_cstr(&query), 9, found), 0);
    buf_fini(&query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tool_that_is_meant_comes_first),
        cmocka_unit_test(what_shares_no_word_is_not_found),
        cmocka_unit_test(names_of_spaces_and_parameters_count),
        cmocka_unit_test(no_more_are_found_than_are_wanted),
        cmocka_unit_test(answers_do_not_depend_on_chance),
        cmocka_unit_test(schemas_are_read_to_their_depth),
        cmocka_unit_test(queries_of_any_length_are_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
