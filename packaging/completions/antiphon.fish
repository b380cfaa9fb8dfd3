# fish completion for antiphon. What stands between the comments is put in by `make completions`, out of
# the tables of commands and of configuration keys.

function __antiphon_has -d 'Is this the command, and the word behind it?'
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = "$argv[1]"; or return 1
    if set -q argv[2]
        test (count $words) -ge 3; and test "$words[3]" = "$argv[2]"
    else
        test (count $words) -eq 2; or string match -q -- '-*' "$words[3]"
    end
end

function __antiphon_takes_flags
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- "$words[2]" $__antiphon_with_flags
end

function __antiphon_models
    timeout 2 antiphon models 2>/dev/null
end

complete -c antiphon -f
# table completion of fish
# end of table completion of fish
