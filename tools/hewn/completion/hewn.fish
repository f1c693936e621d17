# Completes hewn's command line in fish. hewn itself says what may follow (tools/hewn/complete.h),
# so this file knows no option.
function __hewn_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~(?=/)' $HOME -- $words[1])
    set -e words[1]
    # A value that follows "=" is completed behind it.
    set -l option (string match -r -- '^--[^=]+=' $current)
    set -l value (string replace -r -- '^--[^=]+=' '' $current)
    for line in ($program --complete $words "$current" 2>/dev/null)
        switch $line
            case :files
                printf "$option%s\n" (__fish_complete_path $value)
            case :folders
                printf "$option%s\n" (__fish_complete_directories $value '')
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c hewn -f -a '(__hewn_complete)'
