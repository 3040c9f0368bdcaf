# What the help of a command offers, a line each: WORD, a tab, what it is for. CMake puts this into
# the completions of both shells, between quotes: there must be none here.
#     wanted=commands, options, or values: of option, or of operands where that is empty.
# Of options that take data sets, values begins with the word DATA.
function put(text, separator,    count, i, word) {
    count = split(text, word, separator)
    for (i = 1; i <= count; i++) print word[i]
}
# A list of words, at the beginning or behind a colon, as, by, of.
function put_list(text,    count, i, part, list) {
    sub(/ [(].*/, "", text)
    count = split(text, part, /: | as | by | of /)
    list = "^[A-Za-z0-9_-]+(, ?[A-Za-z0-9_-]+)*(,? or [A-Za-z0-9_-]+|, ?[A-Za-z0-9_-]+)"
    for (i = 1; i <= count; i++)
        if (match(part[i], list)) {
            put(substr(part[i], 1, RLENGTH), ",? or |, ?")
            return
        }
}
# An option is described in one line or more.
function end_option(    count, i, word, value) {
    value = names
    sub(/.* /, "", value)
    count = split(names, word, /[ ,]+/)
    for (i = 1; i <= count; i++)
        if (word[i] ~ /^-/ && wanted == "options")
            print word[i] "\t" text
        else if (option && word[i] == option && value == "DATA")
            print "DATA"
        else if (option && word[i] == option &&
                 value ~ /^(NAME|HOW|WHICH|WHAT|KIND|TYPE|LAYOUT|BY|LIST|G,G,[.][.])$/)
            put_list(text)
    names = text = ""
}
/^[^ ].*:$/ { heading = tolower($0) }
/^[^ ]/ && !/:$/ { heading = "" }
wanted == "commands" && heading ~ /^commands/ && /^  [a-z]/ {
    name = $1
    sub(/^ +[^ ]+ +/, "")
    print name "\t" $0
}
wanted == "commands" { next }
heading == "options:" && /^ +-/ {
    end_option()
    names = substr($0, 1, 30)
    sub(/ +$/, "", names)
    text = substr($0, 32)
}
heading == "options:" && /^ +[^ -]/ && names {
    sub(/^ +/, "")
    text = text " " $0
}
wanted == "values" && !option && /^Usage: / {
    for (i = 2; i <= NF; i++)
        if ($i ~ /^[a-z][a-z-]*([|][a-z-]+)+$/) put($i, "[|]")
}
wanted == "values" && !option && / all or any of:$/ { print "all" }
wanted == "values" && !option && heading ~ / any of:$/ && /^  [a-z]/ { print $1 }
END { end_option() }
