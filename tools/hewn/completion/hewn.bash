# Completes hewn's command line in bash 4 and later. hewn itself says what may follow
# (tools/hewn/complete.h), so this file knows no option.
_hewn() {
    local i line spaces rest=$COMP_LINE word
    local -a words=()
    COMPREPLY=()
    # bash makes three words of cuda:1. Words around a colon that no space separates are one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        spaces=${rest%%[![:space:]]*}
        rest=${rest#"$spaces"}
        rest=${rest#"$word"}
        if ((i == COMP_CWORD)) && [[ $word != :* ]]; then word=$2; fi
        if ((i > 0)) && [[ -z $spaces ]] &&
            [[ $word == :* || ${words[${#words[@]} - 1]} == *: ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
    done
    while IFS= read -r line; do
        case $line in
        :files) compopt -o default ;;
        :folders) compopt -o dirnames ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${1/#\~/$HOME}" --complete "${words[@]:1}" 2>/dev/null)
}
complete -F _hewn hewn
