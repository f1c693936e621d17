# Doxygen's INPUT_FILTER: the headers' plain comments as the ones that it reads. A comment above an
# item documents it, and so does one after it on its line. A line "---- Title ----" of hewn.h begins a
# group of items. Lines of a comment that are indented by four more spaces are code, and so is what
# stands in backquotes. The values of an enumeration in C, which has a type of its own, get that type's
# name.
FNR == 1 {
    cpp = FILENAME ~ /\.hpp$/
    inner = FILENAME ~ /operators\.hpp$/  # hewn.hpp includes it within its namespace
    if (cpp) print "/// @file" (inner ? "\nnamespace hewn {" : "")
    else if (sub(/^\/\* /, "/** @file\n * ")) {
        print
        next
    }
}
!cpp && /^\/\* ---- / {
    title = $0
    gsub(/^\/\* ---- | -* \*\/$/, "", title)
    id = tolower(title)
    gsub(/[^a-z]+/, "_", id)
    print (grouped ? "/** @} */\n" : "") "/** @defgroup " id " " title "\n * @{ */"
    grouped = 1
    next
}
/^ *(\/\*|\/\/) ----/ { print; next }
/^ \*     |^\/\/     / {
    mark = cpp ? "///" : " *"
    if (!code) print mark " @code{.cpp}"
    for (code = 1; blank > 0; blank--) print mark
    sub(/^ \*    |^\/\/    /, mark)
    print
    next
}
code && /^ \*$|^\/\/$/ { blank++; next }  # perhaps between two lines of code
code {
    print mark " @endcode"
    for (code = 0; blank > 0; blank--) print mark
}
{
    while (match($0, /`[^`]+`/))
        $0 = substr($0, 1, RSTART - 1) "<tt>" substr($0, RSTART + 1, RLENGTH - 2) "</tt>" \
            substr($0, RSTART + RLENGTH)
}
!cpp && /^typedef int32_t hewn_[a-z_]+;$/ { type = $3; sub(/;/, "", type); next }
type != "" {
    print /^enum \{$/ ? "enum " type " {" : "typedef int32_t " type ";\n" $0
    type = ""
    next
}
!cpp && /^ *\/\* / { sub(/\/\* /, "/** "); print; next }
!cpp && /[;,{0-9A-Z(=] *\/\* / { sub(/\/\* /, "/**< "); print; next }
cpp && /^}  \/\/ namespace / { print "}"; next }
/^\/\/ clang-format / { print ""; next }
cpp && /^ *\/\/$/ { sub(/\/\//, "///"); print; next }
cpp && /^ *\/\/ / {
    sub(/\/\/ /, index($0, "//") == behind ? "///< " : "/// ")
    print
    next
}
cpp && /[;,{})]  +\/\/ / { behind = index($0, "//"); sub(/\/\/ /, "///< "); print; next }
{ behind = 0; print }
END { print (inner ? "}" : "") (grouped ? "/** @} */" : "") }
