#compdef hewn
# Completes hewn's command line in zsh. hewn itself says what may follow (tools/hewn/complete.h), so
# this file knows no option.
_hewn() {
    local line
    local -a found
    for line in "${(@f)$("${(Q)words[1]/#\~/$HOME}" --complete "${(@Q)words[2,CURRENT-1]}" \
        "${(Q)PREFIX}" 2>/dev/null)}"; do
        case $line in
        '') ;;
        :files)
            [[ $PREFIX == --*=* ]] && compset -P 1 '*='
            _files
            ;;
        :folders)
            [[ $PREFIX == --*=* ]] && compset -P 1 '*='
            _path_files -/
            ;;
        *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    (($#found)) && _describe hewn found
}
# zsh runs this file as the function that completes, or a program's user reads it by `source`.
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _hewn "$@"
else
    compdef _hewn hewn
fi
