# Doxygen's INPUT_FILTER: the headers' plain comments as the ones that it reads. A comment above an
# item documents it, one behind it in the line too; "---- Title ----" are of no item.
FNR == 1 { cpp = FILENAME ~ /\.hpp$/; print cpp ? "/// @file" : "/** @file */" }
/^ *(\/\*|\/\/) ----/ { print; next }
!cpp && /^ *\/\* / { sub(/\/\* /, "/** "); print; next }
!cpp && /[;,{0-9A-Z(=] *\/\* / { sub(/\/\* /, "/**< "); print; next }
cpp && /^ *\/\/ / {
    sub(/\/\/ /, index($0, "//") == behind ? "///< " : "/// ")
    print
    next
}
cpp && /[;,{})]  +\/\/ / { behind = index($0, "//"); sub(/\/\/ /, "///< "); print; next }
{ behind = 0; print }
