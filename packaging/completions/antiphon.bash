# bash completion for antiphon. The lines between the comments are put in by `make completions`, out of
# the tables of commands and of configuration keys.

__antiphon_commands() {
    cat <<'END'
# table completion commands
# end of table completion commands
END
}

__antiphon_flags() {
    cat <<'END'
# table completion flags
# end of table completion flags
END
}

# What may stand behind this flag: "", or the field of its line.
__antiphon_value_of() {
    local flag value help
    while IFS=$'\t' read -r flag value help; do
        [ "$flag" = "$1" ] && printf '%s' "${value#-}" && return
    done < <(__antiphon_flags)
}

__antiphon_complete_value() {
    case "$1" in
    file) mapfile -t COMPREPLY < <(compgen -f -- "$2"); compopt -o filenames 2>/dev/null ;;
    model) mapfile -t COMPREPLY < <(compgen -W "$(timeout 2 antiphon models 2>/dev/null)" -- "$2") ;;
    words*) mapfile -t COMPREPLY < <(compgen -W "${1#words}" -- "$2") ;;
    esac
}

_antiphon() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} second=${COMP_WORDS[2]:-} choices='' value file=''
    local name word own takes argument help flag
    COMPREPLY=()

    # "--flag=value" comes as three words.
    [ "$cur" = = ] && cur=''
    if [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi
    if [ "$COMP_CWORD" -gt 1 ]; then
        value=$(__antiphon_value_of "$prev")
        if [ -n "$value" ]; then
            __antiphon_complete_value "$value" "$cur"
            return
        fi
    fi

    while IFS=$'\t' read -r name word own takes argument help; do
        case "$name" in \#*) continue ;; esac
        if [ "$COMP_CWORD" -eq 1 ]; then
            choices+=" $name"
        elif [ "$name" = "$command" ]; then
            [ "$COMP_CWORD" -eq 2 ] && choices+=" ${word#-}"
            if [ "$word" = - ] || [ "$word" = "$second" ]; then
                [ "$own" = - ] || choices+=" $own"
                [ "$argument" = file ] && file=yes
                [ "$takes" = flags ] && [[ $cur == -* ]] && while IFS=$'\t' read -r flag _; do
                    [[ $flag == --* ]] && choices+=" $flag"
                done < <(__antiphon_flags)
            fi
        fi
    done < <(__antiphon_commands)
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur" | sort -u)
    if [ ${#COMPREPLY[@]} -eq 0 ] && [ -n "$file" ]; then __antiphon_complete_value file "$cur"; fi
}

complete -F _antiphon antiphon
