# An MCP server for tests of the hub: sh tiny-server.sh NAME. Its tools:
#   who    answers with NAME and its process id
#   wait   the same, when somebody has opened the fifo in its argument for writing
#   exit   ends the server without an answer
info='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}'
tools='{"tools":[{"name":"who","inputSchema":{"type":"object"}},{"name":"wait","inputSchema":{"type":"object"}},{"name":"exit","inputSchema":{"type":"object"}}]}'

while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    result="{\"content\":[{\"type\":\"text\",\"text\":\"$1 $$\"}]}"
    case $line in
    *'"method":"initialize"'*) result=$info ;;
    *'"method":"tools/list"'*) result=$tools ;;
    *'"name":"who"'*) ;;
    *'"name":"wait"'*)
        fifo=${line#*\"fifo\":\"}
        : <"${fifo%%\"*}"
        ;;
    *'"name":"exit"'*) exit 3 ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
