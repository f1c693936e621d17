# Completes hewn's command line in bash 4 and later. hewn itself says what may follow
# (tools/hewn/complete.h), so this file knows no option.
_hewn() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) compopt -o default ;;
        :folders) compopt -o dirnames ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${1/#\~/$HOME}" --complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$2" 2>/dev/null)
}
complete -F _hewn hewn
